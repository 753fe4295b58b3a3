import { describe, expect, it } from 'vitest'
import { operatorRecord } from '../../lib/http/openapi-operator-examples'
import { csvCell, exportKeys, streamOf } from '../../lib/http/operator/export'

const key = { ...operatorRecord, tenant: 'demo', orderId: 'ord_1', amountCents: 2500, currency: 'USD' }

async function* batchesOf(...batches: (typeof key)[][]) {
  yield* batches
}
const textOf = (batches: (typeof key)[][], format: 'csv' | 'json') => {
  const { body, headers } = exportKeys.stream!(batchesOf(...batches), { query: { format, sort: '-createdAt' } })
  return { headers, text: new Response(body).text() }
}

describe('a CSV cell', () => {
  it.each([
    ['=HYPERLINK("https://elsewhere.example")', `"'=HYPERLINK(""https://elsewhere.example"")"`],
    ['+41791234567', `'+41791234567`],
    ['-2+3', `'-2+3`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\tx', `'\tx`],
    ['\rx', `"'\rx"`],
    ['a=b', 'a=b'],
  ])('%j is exported as %j, so that no spreadsheet runs it as a formula', (text, cell) => {
    expect(csvCell(text)).toBe(cell)
  })

  it('is quoted when it contains a comma, a quote or a line break, and is empty for null', () => {
    expect(csvCell('a,b')).toBe('"a,b"')
    expect(csvCell('say "so"')).toBe('"say ""so"""')
    expect(csvCell('two\nlines')).toBe('"two\nlines"')
    expect(csvCell(null)).toBe('')
    // A number is ours, and stays one.
    expect(csvCell(-5)).toBe('-5')
  })
})

describe('an export file', () => {
  it('of CSV has a header line and a line for each key', async () => {
    const { headers, text } = textOf([[key], [key, key]], 'csv')
    expect(headers['content-type']).toMatch(/^text\/csv/)
    expect(headers['content-disposition']).toMatch(/^attachment; filename="onceover-keys-[\dTZ-]+\.csv"$/)
    const lines = (await text).split('\r\n')
    expect(lines).toHaveLength(5)
    const cells = lines[1]!.split(',')
    expect(Object.fromEntries(lines[0]!.split(',').map((name, at) => [name, cells[at]]))).toMatchObject({
      id: key.id,
      key: key.key,
      tenant: 'demo',
      amountCents: '2500',
      responseStatus: '201',
      resourceType: 'order',
      lockedUntil: '',
    })
  })

  it('of JSON is one array, however many batches it is made of', async () => {
    expect(JSON.parse(await textOf([[key], [], [key, key]], 'json').text)).toEqual([key, key, key])
    expect(JSON.parse(await textOf([[]], 'json').text)).toEqual([])
  })

  it('is aborted with an error when its source fails', async () => {
    async function* broken() {
      yield [key]
      throw new Error('gone')
    }
    const { body } = exportKeys.stream!(broken(), { query: { format: 'csv', sort: '-createdAt' } })
    await expect(new Response(body).text()).rejects.toThrow('gone')
  })
})

describe('an export stream', () => {
  it('reads its source only as fast as the client reads, and stops when the client cancels', async () => {
    let made = 0
    let stopped = false
    async function* pieces() {
      try {
        for (;;) yield `piece ${made++}`
      } finally {
        stopped = true
      }
    }
    const reader = streamOf(pieces()).getReader()
    await reader.read()
    // One that was taken, and at most one that waits.
    expect(made).toBeLessThanOrEqual(2)
    await reader.cancel()
    expect(stopped).toBe(true)
  })
})
