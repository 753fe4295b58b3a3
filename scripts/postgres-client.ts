// Short errands in a database, each on a connection of its own that is closed whatever happens.
import pg from 'pg'

// A server that is there answers in milliseconds; one that silently drops packets must not hang the start.
const CONNECT_MS = 10_000
const DUPLICATE_DATABASE = '42P04'

export function newClient(url: string, applicationName: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  })
  // A lost connection also rejects what is under way; unheard, this event would end the process.
  client.on('error', () => {})
  return client
}

export async function withClient<T>(url: string, errand: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = newClient(url, 'onceover-setup')
  try {
    await client.connect()
    return await errand(client)
  } finally {
    await client.end().catch(() => {})
  }
}

export async function createDatabase(serverUrl: string, name: string): Promise<void> {
  await withClient(serverUrl, async (client) => {
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount) return
    await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`).catch((error) => {
      if (error.code !== DUPLICATE_DATABASE) throw error
    })
  })
}
