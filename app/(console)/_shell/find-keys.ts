'use server'
import { z } from 'zod'
import { parseSearch } from '../../../lib/console/search-text'
import type { State } from '../../../lib/idempotency/states'
import { isRefused } from '../../../lib/operators/refusal'
import { type Answer, answerTo } from './answer'

const MOST = 8
/** Longer than any search that says something. */
const LONGEST = 1000

export interface FoundKey {
  id: string
  key: string
  state: State
  tenant: string
  createdAt: string
}

/** Whatever somebody pasted, whole or in part, or typed as they would into the box on the Keys page. */
export async function findKeys(text: string): Promise<Answer<FoundKey[]>> {
  return answerTo(z.string().max(LONGEST), text, async ({ call, services }, typed) => {
    const search = parseSearch(typed)
    if (!search.ok) return []
    const page = await services.seeKeys(call, { filter: search.filter, sort: '-createdAt', after: null, limit: MOST })
    if (isRefused(page)) return page
    return page.rows.map(({ id, key, state, tenant, createdAt }) => ({ id, key, state, tenant, createdAt }))
  })
}
