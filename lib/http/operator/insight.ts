// Numbers, misuse, discrepancies, and who did what.
import { z } from 'zod'
import { AUDIT_OUTCOMES, AuditEntry } from '../../audit/read'
import { DISCREPANCY_STATES, Discrepancy } from '../../console/discrepancies'
import { Instant } from '../../console/keys-filter'
import { MisuseRow } from '../../console/misuse'
import { Stats } from '../../console/stats'
import { WINDOWS } from '../../console/window'
import { encodeCursor } from '../cursor'
import { auditEntry, discrepancy, misuse, stats } from '../openapi-operator-examples'
import { operatorCall } from '../operator-call'
import { isStorable } from '../validate'
import { Reasoned } from './key-actions'
import { cursorOf, listOf, PageQuery, pageOf, withCursor } from './paging'

const tag = 'Operators: insight'
/** A ULID, or the 32 hexadecimal digits that the database makes where it finds one by itself. */
const DISCREPANCY = /^dis_[0-9a-z]{26,32}$/

const text = z.string().trim().min(1).max(255).refine(isStorable, 'has a NUL or a lone surrogate')
const tenant = text.optional().meta({ description: 'A tenant’s id or name' })
const endpoint = text.optional().meta({ description: 'An endpoint, or a part of its name' })
const recordId = text.optional().meta({ description: 'The id of a record' })

const limit = z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'How many at most' })

export const showStats = operatorCall({
  method: 'GET',
  path: '/api/admin/stats',
  operationId: 'showStats',
  tag,
  summary: 'Read the numbers of a window',
  description:
    'Counts by state are exact where that is cheap, and estimated for the large ones. The rest is counted over all nodes ' +
    'and a few seconds behind: totals and series of every counter, latency, and whether lease and retention fit what ' +
    'was measured. `tenant` and `endpoint` narrow those, not the counts by state.',
  role: 'viewer',
  query: z.strictObject({
    window: z.enum(WINDOWS).default('1h').meta({ description: 'By the minute, ten minutes, hour, six hours' }),
    tenant,
    endpoint,
  }),
  answer: { status: 200, description: 'The numbers.', schema: Stats, example: stats },
  does: (services) => services.showStats,
  input: ({ query }) => query,
})

const MisusePosition = z.strictObject({ at: Instant, id: z.string().max(100).refine(isStorable) })

export const listMisuse = operatorCall({
  method: 'GET',
  path: '/api/admin/misuse',
  operationId: 'listMisuse',
  tag,
  summary: 'List misused keys',
  description:
    'Each request whose key stands for another one, newest first: where the two differ, never what they say. At most 100 ' +
    'rows a minute for a key, the rest is counted. Kept for 90 days.',
  role: 'viewer',
  query: z.strictObject({
    tenant,
    endpoint,
    recordId,
    from: Instant.optional().meta({ description: 'At this instant or later' }),
    to: Instant.optional().meta({ description: 'Before this instant' }),
    limit,
    cursor: cursorOf(MisusePosition),
  }),
  answer: {
    status: 200,
    description: 'A page of them.',
    schema: listOf(MisuseRow),
    example: { items: [misuse], nextCursor: null },
  },
  does: (services) => services.listMisuse,
  input: ({ query: { cursor, ...asked } }) => ({ ...asked, after: cursor ?? null }),
  present: ({ items, next }) => ({ items, nextCursor: next ? encodeCursor(next) : null }),
})

export const listDiscrepancies = operatorCall({
  method: 'GET',
  path: '/api/admin/discrepancies',
  operationId: 'listDiscrepancies',
  tag,
  summary: 'List discrepancies',
  description: 'What the ledger comparison and contradicting evidence found, newest first.',
  role: 'viewer',
  query: PageQuery.extend({
    state: z.enum(DISCREPANCY_STATES).default('open').meta({ description: 'Open ones, closed ones or all' }),
    recordId,
  }),
  answer: {
    status: 200,
    description: 'A page of them.',
    schema: listOf(Discrepancy),
    example: { items: [discrepancy], nextCursor: null },
  },
  does: (services) => services.listDiscrepancies,
  input: ({ query: { state, recordId, ...page } }) => ({ state, recordId, ...pageOf(page) }),
  present: withCursor,
})

export const closeDiscrepancy = operatorCall({
  method: 'POST',
  path: '/api/admin/discrepancies/{id}/close',
  operationId: 'closeDiscrepancy',
  tag,
  summary: 'Close a discrepancy',
  description: 'Once you know what happened. Nothing else changes, and it is not opened again when it is found again.',
  role: 'operator',
  params: { id: DISCREPANCY },
  body: Reasoned,
  bodyExample: { reason: 'refunded by hand at the provider' },
  answer: {
    status: 200,
    description: 'It is closed.',
    schema: Discrepancy,
    example: {
      ...discrepancy,
      closedAt: '2025-11-16T14:20:05.019Z',
      closedBy: { id: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4', name: 'Ada Byron' },
      reason: 'refunded by hand at the provider',
    },
  },
  problems: ['already_closed'],
  does: (services) => services.closeDiscrepancy,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

const AuditPosition = z.strictObject({ seq: z.int().min(0) })

export const listAudit = operatorCall({
  method: 'GET',
  path: '/api/admin/audit',
  operationId: 'listAudit',
  tag,
  summary: 'Read the audit log',
  description:
    'Who did what, to what and why, and who was refused, newest first. Refusals of one actor and action within one ' +
    'minute are one entry with a `count`; its target and request are those of the first one.',
  role: 'viewer',
  query: z.strictObject({
    actor: text.optional().meta({ description: 'An operator’s or a token’s id, or its name or e-mail address now' }),
    action: text.optional().meta({ description: 'What was done', example: 'key.resolve' }),
    target: text.optional().meta({ description: 'The id of what it was done to' }),
    outcome: z.enum(AUDIT_OUTCOMES).optional().meta({ description: 'What was done, or what was refused' }),
    limit,
    cursor: cursorOf(AuditPosition),
  }),
  answer: {
    status: 200,
    description: 'A page of entries.',
    schema: listOf(AuditEntry),
    example: { items: [auditEntry], nextCursor: null },
  },
  does: (services) => services.listAudit,
  input: ({ query: { cursor, ...asked } }) => ({ ...asked, after: cursor ?? null }),
  present: ({ items, next }) => ({ items, nextCursor: next ? encodeCursor(next) : null }),
})
