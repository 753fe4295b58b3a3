// Outlives the process that started a throw-away database, in order to clear that database away when the process could
// not: crashed, killed, or cut off by Ctrl-C. Its standard input is the owner's end of a pipe, which the operating
// system closes whichever way the owner goes.
import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const STOP_LIMIT_MS = 10_000
const [folder] = process.argv.slice(2)
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => {})

process.stdin.resume().on('close', async () => {
  const pidFile = path.join(folder, 'postgres', 'postmaster.pid')
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10)
  // SIGQUIT is PostgreSQL's immediate shutdown: nothing in there is worth a clean one. It removes the file at its end.
  if (pid && signal(pid, 'SIGQUIT'))
    for (const deadline = Date.now() + STOP_LIMIT_MS; existsSync(pidFile) && Date.now() < deadline; ) await sleep(50)
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

function signal(pid, name) {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
