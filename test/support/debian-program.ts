// A server program that tests run: the one that the environment names, else the system's, else Debian's own package,
// fetched and unpacked beside this project's packages. That takes seconds, needs no root and installs nothing.
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { run } from '../../scripts/run.mjs'

const root = path.resolve(import.meta.dirname, '..', '..')
/** Where a system keeps such programs, also from people whose PATH has no such folder. */
const FOLDERS = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin']
const CACHE = path.join(root, 'node_modules', '.cache')

export interface Program {
  file: string
  /** What it needs to find the libraries that came with it; empty for the system's. */
  env: Record<string, string>
}

/** Named like its package; `PGBOUNCER` or `HAPROXY` names another. */
export async function findProgram(name: 'pgbouncer' | 'haproxy'): Promise<Program> {
  const variable = name.toUpperCase()
  const installed = process.env[variable] ?? FOLDERS.map((folder) => path.join(folder, name)).find(existsSync)
  if (installed) return { file: installed, env: {} }
  const unpacked = path.join(CACHE, name)
  const file = path.join(unpacked, 'usr', 'sbin', name)
  if (!existsSync(file))
    await unpack(name, unpacked).catch((error: Error & { output?: string }) => {
      throw new Error(
        `There is no ${name} here, and Debian's can't be fetched: install one, or name one in ${variable}.\n${error.output ?? error.message}`,
        { cause: error },
      )
    })
  const lib = path.join(unpacked, 'usr', 'lib')
  const [triplet = '.'] = (await readdir(lib).catch(() => [])).filter((folder) => folder.endsWith('-gnu'))
  return { file, env: { LD_LIBRARY_PATH: path.join(lib, triplet) } }
}

/** What apt would install here and what is missing for it, into a folder instead of the system. */
async function unpack(name: string, folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const draft = await mkdtemp(`${folder}.new-`)
  try {
    const [lists, cache, made] = ['lists', 'cache', 'made'].map((part) => path.join(draft, part)) as [
      string,
      string,
      string,
    ]
    const archives = path.join(cache, 'archives')
    for (const kept of [lists, archives]) await mkdir(path.join(kept, 'partial'), { recursive: true })
    const apt = (...args: string[]) => {
      const places = {
        'Dir::State::Lists': lists,
        'Dir::Cache': cache,
        'Debug::NoLocking': '1',
        'APT::Sandbox::User': '',
      }
      const options = Object.entries(places).flatMap(([option, value]) => ['-o', `${option}=${value}`])
      return run(`apt-get ${args[0]}`, 'apt-get', ['-q', '-y', ...options, ...args])
    }
    await apt('update')
    await apt('install', '--download-only', '--no-install-recommends', name)
    for (const archive of await readdir(archives))
      if (archive.endsWith('.deb')) await run('dpkg-deb', 'dpkg-deb', ['-x', path.join(archives, archive), made])
    await chmod(made, 0o755)
    await rename(made, folder)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
