// PostgreSQL refuses to run as root. For root, its programs run as an ordinary account; for anybody else, as
// themselves. The account must reach the binaries and the data also where a folder above them is closed to it (a
// checkout in `mktemp -d` is mode 0700): then it gets the one capability that lets it pass, and nothing more.
import { type SpawnOptions, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { chown } from 'node:fs/promises'

export interface ServerAccount {
  /** How to start one of PostgreSQL's programs as this account. */
  command(program: string, args: readonly string[]): { command: string; args: readonly string[]; options: SpawnOptions }
  own(path: string): Promise<void>
}

const DAC_OVERRIDE = { name: 'dac_override', bit: 1n }
const DAC_READ_SEARCH = { name: 'dac_read_search', bit: 2n }

export function serverAccount({
  data,
  folder,
  program,
}: {
  data: string
  folder: string
  program: string
}): ServerAccount {
  if (process.getuid?.() !== 0)
    return { command: (command, args) => ({ command, args, options: {} }), own: () => Promise.resolve() }

  const { uid, gid } = accountFor(data)
  const own = (path: string) => chown(path, uid, gid)
  if (canReach(uid, gid, program) && canReach(uid, gid, folder))
    return { command: (command, args) => ({ command, args, options: { uid, gid } }), own }
  const prefix = passingClosedFolders(uid, gid, program)
  return { command: (command, args) => ({ command: 'setpriv', args: [...prefix, command, ...args], options: {} }), own }
}

// Data that is there already stays with its owner: a checkout first started by an ordinary user, then by root.
function accountFor(data: string): { uid: number; gid: number } {
  if (existsSync(data)) {
    const { uid, gid } = statSync(data)
    if (uid !== 0) return { uid, gid }
  }
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const wanted of ['postgres', 'nobody']) {
    const found = accounts.find(([name]) => name === wanted)
    if (found) return { uid: Number(found[2]), gid: Number(found[3]) }
  }
  throw new Error('PostgreSQL does not run as root, and there is no account "postgres" or "nobody" to run it as.')
}

function canReach(uid: number, gid: number, path: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', path], { uid, gid, cwd: '/' }).status === 0
}

function passingClosedFolders(uid: number, gid: number, program: string): string[] {
  const effective = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`)
  // Reading and passing through is enough, unless an install under umask 077 kept the programs to root. Containers
  // often have only the wider of the two to give.
  const enough = statSync(program).mode & 0o001 ? [DAC_READ_SEARCH, DAC_OVERRIDE] : [DAC_OVERRIDE]
  const capability = enough.find(({ bit }) => (effective >> bit) & 1n)
  if (!capability || spawnSync('setpriv', ['--version']).status !== 0)
    throw new Error(
      'the database runs as an ordinary account, which cannot enter this folder; open it (chmod 755) or set DATABASE_URL.',
    )
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    `--inh-caps=+${capability.name}`,
    `--ambient-caps=+${capability.name}`,
    // PostgreSQL looks for its own files with access(2), which leaves capabilities out of account without this.
    '--securebits=+no_setuid_fixup',
    '--',
  ]
}
