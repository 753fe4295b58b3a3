import { crashMatrix } from './suite'

crashMatrix({ honoursKeys: true })
