// `npm run db:dump -- <folder>` and `npm run db:load -- <folder>`: from the embedded database to a server of one's own
// and back. The database is that of DATABASE_URL, or the embedded one. Ends with 1 and one line where it is refused.
import path from 'node:path'
import nextEnv from '@next/env'
import { parseConfig } from '../lib/config'
import { count, type Manifest } from './database-folder'
import { dumpDatabase } from './dump-database'
import { joinEmbedded } from './embedded-postgres'
import { loadDatabase } from './load-database'

const root = path.resolve(import.meta.dirname, '..')

async function main(command: string | undefined, folder: string | undefined): Promise<void> {
  if (!folder || (command !== 'dump' && command !== 'load'))
    throw new Error('say which folder: npm run db:dump -- <folder>, or npm run db:load -- <folder>')
  nextEnv.loadEnvConfig(root, false, { info: () => {}, error: console.error })
  const { directDatabaseUrl } = parseConfig(process.env)
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort())
  const embedded = directDatabaseUrl ? undefined : await joinEmbedded(path.join(root, '.data'))
  try {
    const url = directDatabaseUrl ?? embedded!.url
    const task = { root, url, folder: path.resolve(folder), say: console.log, signal: stopped.signal }
    const manifest = await (command === 'dump' ? dumpDatabase(task) : loadDatabase(task))
    console.log(`${command === 'dump' ? 'Dumped to' : 'Loaded from'} ${folder}: ${told(manifest)}`)
  } finally {
    await embedded?.release()
  }
}

function told({ tables, takenAt, server }: Manifest): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return `${count(rows)} rows in ${tables.length} tables, as of ${takenAt}, PostgreSQL ${server}.`
}

const [command, folder] = process.argv.slice(2)
try {
  await main(command, folder)
} catch (error) {
  const { message, name } = error as Error
  console.error(`db:${command}: ${name === 'AbortError' ? 'stopped; nothing was kept' : message.split('\n')[0]}`)
  process.exitCode = 1
}
