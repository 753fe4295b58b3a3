// One of the several processes of an `npm start`. The process that started it says when to stop; a terminal's Ctrl-C,
// which all of them get, is that one's to hear. It ends with it, however that ends.
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { tsImport } from 'tsx/esm/api'

const stopping = new AbortController()
const hurrying = new AbortController()
for (const name of ['SIGINT', 'SIGHUP']) process.on(name, () => {})
// Asked for by its own number it drains, and is replaced.
process.on('SIGTERM', () => stopping.abort())
process.once('disconnect', () => stopping.abort())
// A reader that has gone must not turn every line into an error that is itself printed.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
try {
  const { serveShare } = await tsImport('./serve-share.ts', import.meta.url)
  await serveShare({ root, stopping, hurrying })
  process.exit(0)
} catch (error) {
  if (stopping.signal.aborted) process.exit(0)
  console.error(error.message)
  if (process.env.DEBUG) console.error(error)
  process.exit(1)
}
