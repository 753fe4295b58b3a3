// A dump is a folder: one file of rows for each table, and `manifest.json`, which says what has to be in them. The
// manifest is written last and the folder gets its name after that, so a dump that was cut short is none.
import { createHash, type Hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'

const Manifest = z.object({
  format: z.literal(1),
  /** What was committed before this instant is in it. */
  takenAt: z.iso.datetime(),
  server: z.string(),
  migrations: z.array(z.string()),
  /** In the order in which they are loaded. */
  tables: z.array(
    z.object({
      name: z.string(),
      columns: z.array(z.string()),
      rows: z.int(),
      sha256: z.string(),
    }),
  ),
  sequences: z.array(z.object({ name: z.string(), value: z.string(), called: z.boolean() })),
})
export type Manifest = z.infer<typeof Manifest>

export const manifestFile = (folder: string): string => path.join(folder, 'manifest.json')
export const rowsFile = (folder: string, table: string): string => path.join(folder, `${table}.copy.gz`)

export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(manifestFile(folder), 'utf8').catch((error) => {
    throw new Error(`${folder} is no dump: ${error.code === 'ENOENT' ? 'it has no manifest.json' : error.message}`)
  })
  try {
    return Manifest.parse(JSON.parse(text))
  } catch {
    throw new Error(`${manifestFile(folder)} can't be read: it is damaged, or of another release`)
  }
}

const TELL_AFTER_MS = 5000
const MB = 1_000_000

/** Hashes what passes, and says now and then how much it was. */
export function passing(hash: Hash, table: string, say: (line: string) => void) {
  let bytes = 0
  let toldAt = Date.now()
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      hash.update(chunk)
      bytes += chunk.length
      if (Date.now() - toldAt > TELL_AFTER_MS) {
        say(`  ${table}: ${Math.round(bytes / MB)} MB so far (compressed)`)
        toldAt = Date.now()
      }
      yield chunk
    }
  }
}

export const newHash = (): Hash => createHash('sha256')

export const count = (rows: number): string => rows.toLocaleString('en-US').replaceAll(',', ' ')
