// Which keys are meant: one filter for the list, for everything that acts on "all that match", and for exports.
import sql from 'sql-template-tag'
import { z } from 'zod'
import type { Store } from '../db/store'
import { STATES } from '../idempotency/states'
import { keysInOrder } from './keys-order'

/** Shorter than any prefix of ours with a character behind it, and long enough not to match everything. */
const MIN_SEARCH = 3
const LONGEST_KEY = 255
const TEN_YEARS_SECONDS = 10 * 366 * 86_400

/** PostgreSQL can't compare with a NUL, and a lone surrogate has no UTF-8. */
const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
const text = (min: number, max: number) =>
  z.string().trim().min(min).max(max).refine(isStorable, 'must not contain NUL or lone surrogates')

const State = z.enum(STATES)
/** PostgreSQL has no year 0, and no offset of 16 hours or more. */
export const Instant = z.iso
  .datetime({ offset: true })
  .refine((at) => !at.startsWith('0000'), 'is before all time')
  .refine((at) => !/[+-](?:1[6-9]|2\d):?\d\d$/.test(at), 'has an offset that no place has')

/** From a query, where all is text and a list of one is no list, as well as from JSON. */
export const KeyFilter = z.strictObject({
  state: z
    .union([z.array(State).min(1).max(STATES.length), State.transform((state) => [state])], {
      error: `must be one or more of ${STATES.join(', ')}`,
    })
    .optional()
    .meta({
      description: 'One state or several',
      example: ['unknown'],
      override: { type: 'array', items: { type: 'string', enum: [...STATES] }, anyOf: undefined },
    }),
  tenant: text(1, 255).optional().meta({ description: 'A tenant’s id or name' }),
  endpoint: text(1, 255)
    .optional()
    .meta({ description: 'An endpoint, or a part of its name', example: 'POST /api/orders' }),
  q: text(MIN_SEARCH, LONGEST_KEY)
    .optional()
    .meta({
      description:
        'A key, record id, order id, refund id, provider reference or request id, whole or how it begins. An order’s ' +
        'id finds its refunds too. Of what begins in a common way, the first 1000 of each kind are looked at',
    }),
  minAgeSeconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(TEN_YEARS_SECONDS)
    .optional()
    .meta({ description: 'Created at least so long ago' }),
  maxAgeSeconds: z.coerce
    .number()
    .int()
    .min(0)
    .max(TEN_YEARS_SECONDS)
    .optional()
    .meta({ description: 'Created at most so long ago' }),
  error: text(1, 100).optional().meta({ description: 'A code of the last error, or a part of it', example: 'timeout' }),
  order: text(MIN_SEARCH, LONGEST_KEY)
    .optional()
    .meta({ description: 'Of the order with this id, whole or how it begins, and of its refunds' }),
  ref: text(MIN_SEARCH, LONGEST_KEY)
    .optional()
    .meta({ description: 'Of the provider’s reference, whole or how it begins' }),
  createdFrom: Instant.optional().meta({ description: 'Created at this instant or later' }),
  createdTo: Instant.optional().meta({ description: 'Created before this instant' }),
  deadLettered: z
    .union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
      error: 'must be true or false',
    })
    .optional()
    .meta({
      description: 'Those that wait for a person, or the others',
      override: { type: 'boolean', anyOf: undefined },
    }),
})
export type KeyFilter = z.infer<typeof KeyFilter>

/** The ids of what a filter matches, newest first. */
export async function selectKeyIds(store: Pick<Store, 'query'>, filter: KeyFilter, limit: number): Promise<string[]> {
  const rows = await store.query<{ id: string }>(sql`
    SELECT id FROM (${keysInOrder(filter, { sort: '-createdAt', after: null, limit })}) k`)
  return rows.map(({ id }) => id)
}
