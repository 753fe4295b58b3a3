// Where Debian's packages put what a fail-over takes: PostgreSQL, Patroni, etcd and HAProxy. Without one of them there
// is no proof, so that is an error with the command that installs them.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'

/** Where a system keeps such programs, also from people whose PATH has no such folder. */
const FOLDERS = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/bin', '/usr/sbin', '/usr/local/sbin']
const POSTGRESQL = '/usr/lib/postgresql'

export interface Programs {
  patroni: string
  etcd: string
  haproxy: string
  /** The folder of PostgreSQL's own programs. */
  postgresql: string
}

export function findPrograms(): Programs {
  const fileOf = (name: string) => FOLDERS.map((folder) => path.join(folder, name)).find(existsSync)
  const found = { patroni: fileOf('patroni'), etcd: fileOf('etcd'), haproxy: fileOf('haproxy'), postgresql: newest() }
  const missing = Object.entries(found).flatMap(([name, file]) => (file ? [] : [name]))
  if (missing.length > 0)
    throw new Error(`The fail-over proof needs ${missing.join(', ')}; .ci/failover-packages installs them on Debian.`)
  return found as Programs
}

function newest(): string | undefined {
  const versions = existsSync(POSTGRESQL) ? readdirSync(POSTGRESQL).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => path.join(POSTGRESQL, version, 'bin')).find((bin) => existsSync(`${bin}/postgres`))
}
