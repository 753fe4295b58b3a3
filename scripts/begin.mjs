// What `npm start`, `npm run check`, `npm test` and `npm run proof` begin with, on a fresh clone or an old one: the right Node, signals that stop us in
// order, the start lock, and the dependencies. It needs nothing installed.
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensureInstalled } from './install.mjs'
import { takeLock } from './lock.mjs'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))

const OLDEST_NODE = [20, 19]
// A terminal's Ctrl-C reaches us directly and once more through npm. A person is slower than that.
const REPEAT_MS = 1_000
const ORPHAN_POLL_MS = 250

/**
 * Runs `main` until it ends or is asked to stop, and exits the process. The first signal aborts `stopping`; a second
 * one `hurrying`, which gives up what is still under way; a third ends the process where it stands.
 */
export async function begin(main) {
  const stopping = new AbortController()
  const hurrying = new AbortController()
  let signalledAt = 0
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(name, () => {
      if (Date.now() - signalledAt < REPEAT_MS) return
      signalledAt = Date.now()
      const code = 128 + constants.signals[name]
      if (hurrying.signal.aborted) process.exit(code)
      const reason = Object.assign(new Error(`stopped by ${name}`), { exitCode: code })
      if (stopping.signal.aborted) hurrying.abort(reason)
      else stopping.abort(reason)
    })
  whenOrphaned(() => process.emit('SIGTERM'))
  // A reader that has gone (`npm start | head`) must not turn every line into an error that is itself printed.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

  try {
    requireNode()
    process.chdir(root)
    Object.assign(process.env, {
      NEXT_TELEMETRY_DISABLED: '1',
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
    })
    const say = (line) => process.stdout.write(`${line}\n`)
    const startLock = await takeLock(path.join(root, '.data', 'start.lock'), {
      signal: stopping.signal,
      onWait: (pid) => say(`Waiting for another start of this checkout${pid ? ` (process ${pid})` : ''}…`),
    })
    try {
      await ensureInstalled(root, { say, signal: stopping.signal })
      process.exitCode = await main({ root, say, startLock, stopping: stopping.signal, hurrying: hurrying.signal })
    } finally {
      await startLock.release()
    }
  } catch (error) {
    process.exitCode = explain(error, stopping.signal)
  }
  process.exit()
}

// npm passes a signal on to its shell, and some shells die of it without passing it on to us: their death is all that
// we get to see. The same holds for a shell that was started with nothing but us to run. A supervisor that started us
// with a channel takes us along in the same way.
function whenOrphaned(stop) {
  process.once('disconnect', stop)
  if (!process.env.npm_lifecycle_event && !isStartedByShellCommand()) return
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    stop()
  }, ORPHAN_POLL_MS)
  watch.unref()
}

/** `sh -c '…'`; a shell that put us into the background and went on to its end is gone by now. */
function isStartedByShellCommand() {
  try {
    const [program, option] = readFileSync(`/proc/${process.ppid}/cmdline`, 'utf8').split('\0')
    return /(?:^|\/)(?:ba|da|a|z|k)?sh$/.test(program) && /^-\w*c$/.test(option)
  } catch {
    return false
  }
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]))
    throw new Error(`Node ${OLDEST_NODE.join('.')} or newer is needed; this is ${process.versions.node}.`)
}

function explain(error, stopping) {
  if (stopping.aborted) return stopping.reason.exitCode
  // Not the console's, which a node that serves has turned into lines of JSON.
  const tell = (line) => process.stderr.write(`${line}\n`)
  if (error.output) tell(error.output)
  tell(error.message.replace(/^(?!Configuration)/, 'Onceover could not start: '))
  if (process.env.DEBUG) tell(error.stack)
  return 1
}
