// The server of `npm start`, Next in the same process, with a handler in place of our routes: what is left of a ratio on
// this host is our own work.
// Usage: direct.ts, with HANDLER and DATABASE_URL in the environment. Prints its URL.
import { answerUntilStopped } from '../../../scripts/answer'
import { NEXT_APP } from '../next-host'

const DRAIN_MS = 1000

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort())
process.once('disconnect', () => stopping.abort())
await answerUntilStopped({
  root: NEXT_APP,
  port: 0,
  dev: false,
  drainMs: DRAIN_MS,
  stopping: stopping.signal,
  hurrying: stopping.signal,
  onReady: (port) => console.log(`http://localhost:${port}`),
})
process.exit()
