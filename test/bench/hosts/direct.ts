// The server of `npm start`, Next in the same process, with a handler in place of our routes: what is left of a ratio on
// this host is our own work.
// Usage: direct.ts, with HANDLER and DATABASE_URL in the environment. Prints its URL.
import { answerUntilStopped } from '../../../scripts/answer'
import { listen } from '../../../scripts/http-server'
import { NEXT_APP } from '../next-host'

const DRAIN_MS = 1000

const stopping = new AbortController()
process.once('SIGTERM', () => stopping.abort())
process.once('disconnect', () => stopping.abort())
const server = await listen(0)
await answerUntilStopped(server, {
  root: NEXT_APP,
  dev: false,
  drainMs: DRAIN_MS,
  stopping: stopping.signal,
  hurrying: stopping.signal,
  onReady: () => console.log(`http://localhost:${server.port}`),
})
process.exit()
