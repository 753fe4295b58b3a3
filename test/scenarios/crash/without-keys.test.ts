import { crashMatrix } from './suite'

crashMatrix({ honoursKeys: false })
