// The codes of the errors that records have. They are few, and an index holds them in order: from one to the next it is
// one step, however many records have the same.
import sql, { type Sql } from 'sql-template-tag'
import type { Store } from '../db/store'

const next = (after: Sql): Sql => sql`(
  SELECT last_error_code FROM idempotency_records WHERE last_error_code IS NOT NULL ${after}
  ORDER BY last_error_code LIMIT 1)`

/** A statement of the `code`s that have the text in them. */
export const errorCodesLike = (text: string): Sql => sql`
  WITH RECURSIVE codes (code) AS (
    SELECT ${next(sql``)}
    UNION ALL
    SELECT ${next(sql`AND last_error_code > c.code`)} FROM codes c WHERE c.code IS NOT NULL
  )
  SELECT code FROM codes WHERE strpos(lower(code), ${text.toLowerCase()}) > 0`

export async function listErrorCodes(store: Pick<Store, 'query'>, text: string): Promise<string[]> {
  const rows = await store.query<{ code: string }>(errorCodesLike(text))
  return rows.map(({ code }) => code)
}
