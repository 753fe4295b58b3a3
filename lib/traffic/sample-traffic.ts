// Sample traffic as a run: the node that was asked sends it to its own port, over HTTP like any client, with an API key
// that is made for it and is revoked with it, however it ends. What a node that died left behind is revoked by the next.
import sql from 'sql-template-tag'
import type { Store } from '../db/store'
import { log } from '../log'
import type { Batch, Daemon } from '../maintenance/daemon'
import type { Call } from '../operators/actor'
import { isRefused } from '../operators/refusal'
import { createApiKey, revokeApiKey } from '../tenants/api-keys'
import { requestsOf, type Step } from './plan'
import { sendPlan } from './send'

const TENANT = 'demo'
export const KEY_NAME = 'sample traffic'
/** A portion in less than a minute, with as much to see at any moment. */
const STEPS_A_SECOND = 6

export interface SampleTraffic {
  store: Store
  /** Where this node answers. */
  url(): string
  rate?: number
}

export function sampleTraffic(
  { store, url, rate = STEPS_A_SECOND }: SampleTraffic,
  call: Call,
  plan: readonly Step[],
): Daemon<'traffic'> {
  const total = plan.reduce((sum, step) => sum + requestsOf(step), 0)
  return {
    kind: 'traffic',
    async *batches() {
      const tenantId = await demoTenant(store)
      await revokeLeftOver(store, call, tenantId)
      const made = await createApiKey(store, call, { tenantId, name: KEY_NAME })
      if (isRefused(made)) throw new Error('no API key could be made')
      try {
        yield { counts: {}, ids: [], total }
        const target = { url: url(), apiKey: made.secret }
        for await (const { requests, statuses } of sendPlan(target, plan, { rate })) {
          if (statuses['401']) throw new Error('the API took its key for nobody’s: is tenant demo disabled?')
          yield { counts: statuses, ids: [], size: requests, total } satisfies Batch
        }
      } catch (error) {
        throw error instanceof TypeError ? new Error('the API could not be reached', { cause: error }) : error
      } finally {
        await revokeApiKey(store, call, { tenantId, id: made.id }).catch((error) =>
          log().error({ err: error, key: made.id }, 'the key of sample traffic could not be revoked'),
        )
      }
    },
  }
}

async function demoTenant(store: Pick<Store, 'query'>): Promise<string> {
  const [tenant] = await store.query<{ id: string }>(sql`SELECT id FROM tenants WHERE name = ${TENANT}`)
  if (!tenant) throw new Error('there is no tenant demo')
  return tenant.id
}

async function revokeLeftOver(store: Store, call: Call, tenantId: string): Promise<void> {
  const left = await store.query<{ id: string }>(sql`
    SELECT id FROM api_keys WHERE tenant_id = ${tenantId} AND name = ${KEY_NAME} AND revoked_at IS NULL`)
  for (const { id } of left) await revokeApiKey(store, call, { tenantId, id, reason: 'left over' })
}
