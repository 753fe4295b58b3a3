import { getOrder, placeOrder } from './generated/orval/orders/orders'
import { ORDER, type Task, type Transcript } from './transcript'

/** Its clients have the address of the document's `servers` built in. */
export async function run({ apiKey, keys }: Task): Promise<Transcript> {
  const authorization = `Bearer ${apiKey}`
  const place = (key: string, prefer?: string, body = ORDER) =>
    placeOrder(body, { headers: { authorization, 'Idempotency-Key': key, ...(prefer && { Prefer: prefer }) } })

  async function placed(key: string) {
    const { data, status, headers } = await place(key)
    // @ts-expect-error It may be the record of a 202, or a problem.
    data.id
    if (status !== 201) throw new Error(`It answered ${status}`)
    return { status, id: data.id, replayed: headers.get('Idempotent-Replayed') === 'true' }
  }

  async function read(id: string) {
    const { data, status } = await getOrder(id, { headers: { authorization } })
    if (status !== 200) throw new Error(`It answered ${status}`)
    return { id: data.id, status: data.status, amountCents: data.amountCents }
  }

  async function problem(key: string) {
    const { data, status } = await place(key, undefined, { ...ORDER, customerId: 'cus_another' })
    if (status !== 422) throw new Error(`It answered ${status}`)
    // @ts-expect-error There is no such code.
    if (data.code === 'no_such_code') throw new Error('Not typed')
    return { status, code: data.code, sameKey: data.retry.sameKey }
  }

  async function accepted(key: string) {
    const { data, status } = await place(key, 'respond-async')
    if (status !== 202) throw new Error(`It answered ${status}`)
    return { status, state: data.state }
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
