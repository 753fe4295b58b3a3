// Lists that people page through: newest first, each page from where the one before ended.

export interface Position {
  createdAt: string
  id: string
}

export interface Page {
  limit: number
  after: Position | null
}

export interface Listed<Item> {
  items: Item[]
  next: Position | null
}

/** `found` has one more than is shown where there is a next page. */
export function listed<Item extends Position>(found: Item[], limit: number): Listed<Item> {
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return { items, next: found.length > limit && last ? { createdAt: last.createdAt, id: last.id } : null }
}
