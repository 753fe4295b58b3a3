// Stands in for a process that serves: it does what the environment says, and nothing of a node.
import { existsSync, mkdirSync } from 'node:fs'

const { STAND_IN = '', SECRETS = '' } = process.env
if (STAND_IN === 'fails') process.exit(3)
process.on('message', ({ kind, connection }, socket) => {
  if (kind === 'stop' && STAND_IN !== 'deaf') process.exit(0)
  if (kind !== 'connection') return
  process.send({ kind: 'took', connection })
  socket.end('taken')
})
const shown = welcome()
const told = `${SECRETS}/told`
if (STAND_IN === 'others fail' && !shown.hasSecrets) setInterval(() => existsSync(told) && process.exit(3), 5)
else process.send({ kind: 'ready', welcome: shown }, afterwards)

function afterwards() {
  if (STAND_IN === 'crashes') process.exit(4)
  if (STAND_IN === 'others fail') mkdirSync(told)
  while (STAND_IN === 'first hangs' && shown.hasSecrets);
}

/** Only one of them can make the folder of secrets. */
function welcome() {
  try {
    mkdirSync(SECRETS)
    return { text: 'welcome, and a secret', hasSecrets: true }
  } catch {
    return { text: 'welcome', hasSecrets: false }
  }
}
