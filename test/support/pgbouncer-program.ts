// Which PgBouncer: the one that PGBOUNCER names, else the system's, else Debian's own package, fetched and unpacked
// beside this project's packages. That takes seconds, needs no root and installs nothing.
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { run } from '../../scripts/run.mjs'

const root = path.resolve(import.meta.dirname, '..', '..')
/** Where a system keeps such programs, also from people whose PATH has no such folder. */
const FOLDERS = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin']
const UNPACKED = path.join(root, 'node_modules', '.cache', 'pgbouncer')

export interface Program {
  file: string
  /** Where the libraries are that came with it; undefined for the system's. */
  libraries: string | undefined
}

export async function findPgbouncer(): Promise<Program> {
  const installed = process.env.PGBOUNCER ?? FOLDERS.map((folder) => path.join(folder, 'pgbouncer')).find(existsSync)
  if (installed) return { file: installed, libraries: undefined }
  const file = path.join(UNPACKED, 'usr', 'sbin', 'pgbouncer')
  if (!existsSync(file))
    await unpack().catch((error: Error & { output?: string }) => {
      throw new Error(
        `There is no PgBouncer here, and Debian's can't be fetched: install one, or name one in PGBOUNCER.\n${error.output ?? error.message}`,
        { cause: error },
      )
    })
  const lib = path.join(UNPACKED, 'usr', 'lib')
  const [triplet = '.'] = (await readdir(lib).catch(() => [])).filter((name) => name.endsWith('-gnu'))
  return { file, libraries: path.join(lib, triplet) }
}

/** What apt would install here and what is missing for it, into a folder instead of the system. */
async function unpack(): Promise<void> {
  await mkdir(path.dirname(UNPACKED), { recursive: true })
  const draft = await mkdtemp(`${UNPACKED}.new-`)
  try {
    const [lists, cache, made] = ['lists', 'cache', 'made'].map((name) => path.join(draft, name)) as [
      string,
      string,
      string,
    ]
    const archives = path.join(cache, 'archives')
    for (const folder of [lists, archives]) await mkdir(path.join(folder, 'partial'), { recursive: true })
    const apt = (...args: string[]) => {
      const places = {
        'Dir::State::Lists': lists,
        'Dir::Cache': cache,
        'Debug::NoLocking': '1',
        'APT::Sandbox::User': '',
      }
      const options = Object.entries(places).flatMap(([name, value]) => ['-o', `${name}=${value}`])
      return run(`apt-get ${args[0]}`, 'apt-get', ['-q', '-y', ...options, ...args])
    }
    await apt('update')
    await apt('install', '--download-only', '--no-install-recommends', 'pgbouncer')
    for (const name of await readdir(archives))
      if (name.endsWith('.deb')) await run('dpkg-deb', 'dpkg-deb', ['-x', path.join(archives, name), made])
    await chmod(made, 0o755)
    await rename(made, UNPACKED)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
