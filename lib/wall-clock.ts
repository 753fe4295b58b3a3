// The wall clock itself. Next puts a Date of its own in the place of Node's, which looks up at every reading whether a
// page is being rendered: more than the rest of a reading costs many times over. Whoever loads this before Next, as
// `npm start` does, keeps Node's.
import { processWide } from './process-wide'

const original = processWide('wall-clock', () => Date)

export const wallMs = (): number => original.now()
