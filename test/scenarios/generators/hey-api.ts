import { getOrder, placeOrder } from './generated/hey-api'
import { createClient, createConfig } from './generated/hey-api/client'
import { ORDER, type Task, type Transcript } from './transcript'

export async function run({ url, apiKey, keys }: Task): Promise<Transcript> {
  const client = createClient(createConfig({ baseUrl: url, auth: apiKey }))
  const place = (key: string, prefer?: string, body = ORDER) =>
    placeOrder({ client, headers: { 'Idempotency-Key': key, Prefer: prefer }, body })

  async function placed(key: string) {
    const { data, response } = await place(key)
    // @ts-expect-error It may be the record of a 202.
    data?.id
    if (!data || !('id' in data)) throw new Error(`It answered ${response?.status}`)
    return { status: response.status, id: data.id, replayed: response.headers.get('Idempotent-Replayed') === 'true' }
  }

  async function read(id: string) {
    const { data, response } = await getOrder({ client, path: { id } })
    if (!data) throw new Error(`It answered ${response?.status}`)
    return { id: data.id, status: data.status, amountCents: data.amountCents }
  }

  async function problem(key: string) {
    const { error, response } = await place(key, undefined, { ...ORDER, customerId: 'cus_another' })
    // @ts-expect-error There is no such code.
    if (error?.code === 'no_such_code') throw new Error('Not typed')
    if (error?.code !== 'idempotency_key_reused') throw new Error(`It answered ${response?.status}`)
    return { status: response.status, code: error.code, sameKey: error.retry.sameKey }
  }

  async function accepted(key: string) {
    const { data, response } = await place(key, 'respond-async')
    if (!data || !('state' in data)) throw new Error(`It answered ${response?.status}`)
    return { status: response.status, state: data.state }
  }

  const first = await placed(keys.placed)
  return {
    placed: first,
    replay: await placed(keys.placed),
    read: await read(first.id),
    problem: await problem(keys.placed),
    accepted: await accepted(keys.accepted),
  }
}
