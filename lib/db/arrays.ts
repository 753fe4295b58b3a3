// One statement for any number of items: the items become arrays, and the arrays become rows of a FROM list.
import sql, { join, raw, type Sql } from 'sql-template-tag'

type Column<Item> = readonly [
  type: 'text' | 'int' | 'bigint' | 'float8' | 'boolean' | 'timestamptz',
  of: (item: Item) => unknown,
]

/**
 * A row an item, under `alias`. The planner takes the unknown limit for one row, so it finds each record by its index, however
 * few records the table had when the statement was planned.
 */
export function rowsOf<Item>(alias: string, items: readonly Item[], columns: Record<string, Column<Item>>): Sql {
  const arrays = Object.values(columns).map(([ofType, of]) => sql`${items.map(of)}::${raw(ofType)}[]`)
  const columnNames = Object.keys(columns).join(', ')
  return sql`(SELECT * FROM unnest(${join(arrays)}) AS u (${raw(columnNames)}) LIMIT ${items.length}::int) ${raw(alias)}`
}
