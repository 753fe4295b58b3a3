// The tables of Onceover as the database has them. What the migrations write into tables of their own comes with the
// schema and is no content.
import pg from 'pg'

export interface Table {
  /** With its schema, quoted where SQL needs that. */
  name: string
  /** Those that are stored, and not computed from others. */
  columns: string[]
}

interface TableRow extends Table {
  references: string[]
}

export const SCHEMAS = ['public', 'sandbox', 'graphile_worker']
const OF_MIGRATIONS = ['public._prisma_migrations', 'graphile_worker.migrations']

/** A table comes after the tables that its foreign keys lead to. */
export async function readTables(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<TableRow>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name,
       ARRAY(SELECT a.attname::text FROM pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY 1) AS columns,
       ARRAY(SELECT format('%I.%I', rn.nspname, r.relname) FROM pg_constraint k
         JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
         WHERE k.conrelid = c.oid AND k.contype = 'f' AND r.oid <> c.oid) AS references
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'r' AND n.nspname = ANY ($1) ORDER BY 1`,
    [SCHEMAS],
  )
  const tables = rows.filter(({ name }) => !OF_MIGRATIONS.includes(name))
  const placed = new Set<string>()
  while (placed.size < tables.length) {
    const next = tables.find(({ name, references }) => !placed.has(name) && references.every((to) => placed.has(to)))
    if (!next) throw new Error('foreign keys lead in a circle')
    placed.add(next.name)
  }
  const byName = new Map(tables.map(({ name, columns }) => [name, { name, columns }]))
  return [...placed].map((name) => byName.get(name)!)
}

export async function readMigrations(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ migration_name: string }>(
    `SELECT migration_name FROM public._prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name`,
  )
  return rows.map(({ migration_name }) => migration_name)
}

export interface Sequence {
  name: string
  value: string
  called: boolean
}

export async function readSequences(client: pg.Client): Promise<Sequence[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relkind = 'S' AND n.nspname = ANY ($1) ORDER BY 1`,
    [SCHEMAS],
  )
  const sequences: Sequence[] = []
  for (const { name } of rows) {
    const read = await client.query<Omit<Sequence, 'name'>>(
      `SELECT last_value::text AS value, is_called AS called FROM ${name}`,
    )
    sequences.push({ name, ...read.rows[0]! })
  }
  return sequences
}

/** The rows as `COPY` has them; the settings make a value's text the same on every server. */
export const SETTINGS =
  `SET LOCAL client_encoding = 'UTF8'; SET LOCAL DateStyle = 'ISO'; SET LOCAL IntervalStyle = 'postgres'; ` +
  `SET LOCAL TimeZone = 'UTC'; SET LOCAL search_path = pg_catalog, public; ` +
  `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0`
export const copied = ({ name, columns }: Table): string =>
  `COPY ${name} (${columns.map((column) => pg.escapeIdentifier(column)).join(', ')})`
