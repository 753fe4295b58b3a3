// Lists that are newest first, with a cursor that says where the next page begins.
import { z } from 'zod'
import type { Page } from '../../operators/page'
import { decodeCursor, encodeCursor } from '../cursor'
import { isStorable } from '../validate'

const Cursor = z.object({
  createdAt: z.iso.datetime().refine((at) => !at.startsWith('0000')),
  id: z.string().max(64).refine(isStorable),
})

/** What we handed out, or what was never ours. */
export const cursorOf = <Position extends z.ZodType>(position: Position, name = 'nextCursor') =>
  z
    .string()
    .optional()
    .transform((text) => (text === undefined ? null : decodeCursor(position, text)))
    .refine((cursor) => cursor !== undefined, 'is not a cursor of this list')
    .meta({ type: 'string', description: `\`${name}\` of the page before` })

export const PageQuery = z.strictObject({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(100)
    .default(50)
    .meta({ description: 'How many at most', param: { id: 'PageLimit' } }),
  cursor: cursorOf(Cursor),
})

export const pageOf = ({ limit, cursor }: z.infer<typeof PageQuery>): Page => ({ limit, after: cursor ?? null })

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() })

export const withCursor = <Item>({ items, next }: { items: Item[]; next: object | null }) => ({
  items,
  nextCursor: next ? encodeCursor(next) : null,
})
