// What a migration may do to a database with traffic (docs/decisions/0015), as far as its text shows it.

/** In the order in which every request locks them: in another one, a migration and a request can wait for each other. */
const REQUEST_TABLES = ['idempotency_records', 'orders', 'refunds', 'ledger_entries']
const tablesOf = (text: string) => (text.match(/\w+/g) ?? []).filter((word) => REQUEST_TABLES.includes(word))

export function brokenRules(text: string): string[] {
  const statements = text.replaceAll(/--.*$/gm, '').match(/;/g)?.length ?? 0
  const made = new Set([...text.matchAll(/^CREATE TABLE "?(\w+)/gm)].map(([, table]) => table))
  const indexes = [...text.matchAll(/^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?\S+\s+ON "?(\w+)/gm)].filter(
    ([, , table]) => !made.has(table),
  )
  // it takes no lock that a writer waits for, and can't share a transaction
  const concurrently = indexes.length === 1 && Boolean(indexes[0]![1]) && statements === 1
  const locked = new Set(
    [...text.matchAll(/^(?:LOCK TABLE|ALTER TABLE|(?:CREATE|DROP) [^;]*?TRIGGER [^;]*? ON) ([^;]*)/gm)].flatMap(
      ([all, rest]) => tablesOf(all.startsWith('LOCK') ? rest! : rest!.split(/\s/)[0]!),
    ),
  )
  const inOrder = REQUEST_TABLES.filter((table) => locked.has(table))
  return [
    ...(concurrently || /^SET lock_timeout = /m.test(text) ? [] : ['lock_timeout']),
    ...(concurrently || indexes.length === 0 ? [] : ['index']),
    ...([...locked].join() === inOrder.join() ? [] : ['order of locks']),
  ]
}
