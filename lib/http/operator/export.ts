// Keys as a file: CSV for people with a spreadsheet, JSON for programs. It is written while it is read, and reading
// stops when nobody takes it any more. A file that can't be finished breaks off, so that nobody takes it for whole.
import { z } from 'zod'
import type { ExportedKey } from '../../console/export-keys'
import { KeyFilter } from '../../console/keys-filter'
import { OperatorRecord } from '../../console/record-view'
import { ORDER_ID } from '../openapi-examples'
import { operatorRecord } from '../openapi-operator-examples'
import { operatorCall } from '../operator-call'
import type { Streamed } from '../respond'

/** As many as fit into an address. */
const MOST_IDS = 200
const RecordId = z.string().regex(/^idem_[0-9a-z]{26}$/, 'must be the id of a record')

const Query = KeyFilter.extend({
  format: z.enum(['csv', 'json']).default('csv').meta({ description: 'What kind of file' }),
  sort: z
    .enum(['-createdAt', 'createdAt'])
    .default('-createdAt')
    .meta({ description: 'No other: whatever else the list can be sorted by changes while the file is written' }),
  id: z
    .union([z.array(RecordId).min(1).max(MOST_IDS), RecordId.transform((id) => [id])], {
      error: `must be one to ${MOST_IDS} ids of records`,
    })
    .optional()
    .meta({
      description: `Only these records, at most ${MOST_IDS}; then no filter is asked`,
      override: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MOST_IDS, anyOf: undefined },
    }),
})

const Exported = OperatorRecord.extend({
  tenant: z.string().meta({ description: 'Its name', example: 'demo' }),
  orderId: z.string().nullable().meta({ example: ORDER_ID }),
  amountCents: z.int().nullable().meta({ example: 2500 }),
  currency: z.string().nullable().meta({ example: 'USD' }),
}).meta({ id: 'ExportedKey', description: 'A record and what it is about' }) satisfies z.ZodType<ExportedKey>

const example: ExportedKey = {
  ...operatorRecord,
  tenant: 'demo',
  orderId: ORDER_ID,
  amountCents: 2500,
  currency: 'USD',
}

type Column = readonly [head: string, cell: (key: ExportedKey) => string | number | boolean | null]

const same = <Name extends keyof ExportedKey>(name: Name): readonly [Name, (key: ExportedKey) => ExportedKey[Name]] => [
  name,
  (key) => key[name],
]

const COLUMNS: readonly Column[] = [
  same('id'),
  same('key'),
  same('state'),
  same('tenant'),
  same('tenantId'),
  same('endpoint'),
  same('orderId'),
  same('amountCents'),
  same('currency'),
  same('createdAt'),
  same('completedAt'),
  same('expiresAt'),
  ['responseStatus', ({ response }) => response?.status ?? null],
  ['resourceType', ({ resource }) => resource?.type ?? null],
  ['resourceId', ({ resource }) => resource?.id ?? null],
  same('async'),
  same('attempt'),
  same('version'),
  same('recoveryPoint'),
  same('lockedUntil'),
  same('lockedBy'),
  same('settlesAt'),
  same('lastErrorCode'),
  same('reconcileAfter'),
  same('reconcileAttempts'),
  same('deadLetteredAt'),
  same('replayCount'),
  same('lastReplayedAt'),
  same('fingerprint'),
  same('requestId'),
]

/** Clients choose their keys: what a spreadsheet would run as a formula gets an apostrophe in front. */
const FORMULA = /^[=+\-@\t\r]/

export function csvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const safe = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const csvLine = (cells: readonly (string | number | boolean | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`
const csvHead = csvLine(COLUMNS.map(([head]) => head))
const csvRow = (key: ExportedKey): string => csvLine(COLUMNS.map(([, cell]) => cell(key)))

async function* csvText(batches: AsyncIterable<ExportedKey[]>): AsyncGenerator<string> {
  yield csvHead
  for await (const keys of batches) yield keys.map(csvRow).join('')
}

async function* jsonText(batches: AsyncIterable<ExportedKey[]>): AsyncGenerator<string> {
  let between = '[\n'
  for await (const keys of batches) {
    if (keys.length === 0) continue
    yield between + keys.map((key) => JSON.stringify(key)).join(',\n')
    between = ',\n'
  }
  yield between === '[\n' ? '[]\n' : '\n]\n'
}

/** Asks for the next piece when the one before has been taken. */
export function streamOf(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await pieces.return(undefined)
    },
  })
}

function fileOf(batches: AsyncIterable<ExportedKey[]>, format: 'csv' | 'json'): Streamed {
  const name = `onceover-keys-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}Z.${format}`
  return {
    status: 200,
    headers: {
      'content-type': format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/json',
      'content-disposition': `attachment; filename="${name}"`,
    },
    body: streamOf(format === 'csv' ? csvText(batches) : jsonText(batches)),
  }
}

export const exportKeys = operatorCall({
  method: 'GET',
  path: '/api/admin/keys/export',
  operationId: 'exportKeys',
  tag: 'Operators: keys',
  summary: 'Export keys',
  description:
    'Everything that matches, as a file that is written while it is read. In CSV, text that a spreadsheet would take ' +
    'for a formula begins with an apostrophe; JSON has every value as it is. A file that breaks off is not whole.',
  role: 'viewer',
  query: Query,
  answer: {
    status: 200,
    description: 'The keys, one after the other.',
    schema: z.array(Exported),
    example: [example],
    alsoAs: { 'text/csv': csvHead },
  },
  does: (services) => services.exportKeys,
  input: ({ query: { format, sort, id, ...filter } }) => ({ filter, sort, ids: id }),
  stream: (batches, { query }) => fileOf(batches, query.format),
})
