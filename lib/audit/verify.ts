// Is the audit log what was written? Every hash is computed again, outside of the database: of that, only the rows and
// its own built-in functions are trusted, so a function or trigger of ours that somebody has changed can't vouch for
// itself. What can't be told from the inside is a log that was rewritten from some entry to its end, head included:
// for that, compare the last hash with one that was noted elsewhere.
import { createHash } from 'node:crypto'
import sql, { raw } from 'sql-template-tag'
import type { Store } from '../db/store'

export const BREAKS = [
  /** It is not what its hash was made of. */
  'changed',
  'missing',
  /** It lies outside of what the chain has numbered. */
  'inserted',
  /** It is in order by itself, and was not written after the one before it. */
  'not_chained',
  /** It and all that came after it are gone. */
  'cut_off',
  /** The chain’s end is not known any more: nobody can tell whether this one was there. */
  'head_missing',
] as const
export type Break = (typeof BREAKS)[number]

export interface Verification {
  holds: boolean
  /** How many are in order, from the first one on. */
  entries: number
  /** The number of the first one that is not. */
  brokenAt: number | null
  what: Break | null
  /** The hash of the last one in order. */
  lastHash: string
}

interface Link {
  seq: number
  hash: Buffer
}

interface Entry extends Link {
  previousHash: Buffer
  content: string
}

const BATCH = 1000
const GENESIS: Link = { seq: 0, hash: Buffer.alloc(32) }
/** Below anything that the chain numbers: nothing may hide there. */
const LOWEST = '-9223372036854775808'

/** What the trigger's audit_content says, spelled out. */
const CONTENT = raw(`pg_catalog.jsonb_build_array(e.seq,
  pg_catalog.to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), e.actor_id, e.actor_name, e.action,
  e.target, e.outcome, e.reason, e.before, e.after, e.request_id)::text`)

export async function verifyAudit(store: Pick<Store, 'query'>, batch = BATCH): Promise<Verification> {
  let last = GENESIS
  const broken = (what: Break, brokenAt: number): Verification => ({ ...verdict(last), holds: false, brokenAt, what })
  for (let from = LOWEST; ; from = String(last.seq + 1)) {
    const { entries, head } = await readBatch(store, from, batch)
    for (const entry of entries) {
      if (entry.seq > last.seq + 1) return broken('missing', last.seq + 1)
      if (entry.seq <= last.seq || (head && entry.seq > head.seq)) return broken('inserted', entry.seq)
      if (!hashOf(entry).equals(entry.hash)) return broken('changed', entry.seq)
      if (!entry.previousHash.equals(last.hash)) return broken('not_chained', entry.seq)
      last = entry
    }
    if (entries.length === batch) continue
    if (!head) return broken('head_missing', last.seq + 1)
    if (head.seq > last.seq) return broken('cut_off', last.seq + 1)
    // As good as an entry can be by itself, and another one than was written.
    if (!head.hash.equals(last.hash)) return broken('changed', last.seq)
    return verdict(last)
  }
}

const verdict = (last: Link): Verification => ({
  holds: true,
  entries: last.seq,
  brokenAt: null,
  what: null,
  lastHash: last.hash.toString('hex'),
})

const hashOf = ({ previousHash, content }: Entry): Buffer =>
  createHash('sha256').update(previousHash).update(content, 'utf8').digest()

interface Row {
  head_seq: string | null
  head_hash: Buffer
  seq: string | null
  previous_hash: Buffer
  hash: Buffer
  content: string
}

/** The head comes with them as of the same moment, so what is appended meanwhile is no break. */
async function readBatch(
  store: Pick<Store, 'query'>,
  from: string,
  limit: number,
): Promise<{ entries: Entry[]; head: Link | null }> {
  const rows = await store.query<Row>(sql`
    SELECT h.seq AS head_seq, h.hash AS head_hash, e.*
    FROM (SELECT) one LEFT JOIN audit_head h ON true LEFT JOIN LATERAL (
      SELECT e.seq, e.previous_hash, e.hash, ${CONTENT} AS content FROM audit_entries e
      WHERE e.seq >= ${from}::bigint ORDER BY e.seq LIMIT ${limit}::int
    ) e ON true ORDER BY e.seq`)
  const { head_seq, head_hash } = rows[0]!
  return {
    head: head_seq === null ? null : { seq: Number(head_seq), hash: head_hash },
    entries: rows.flatMap(({ seq, previous_hash, hash, content }) =>
      seq === null ? [] : [{ seq: Number(seq), previousHash: previous_hash, hash, content }],
    ),
  }
}
