'use server'
// What the list asks while it is looked at, and what is done to many keys at once.
import { z } from 'zod'
import type { KeyRow } from '../../../../lib/console/key-rows'
import { Instant, KeyFilter } from '../../../../lib/console/keys-filter'
import { isId } from '../../../../lib/db/id'
import { reasonOf } from '../../../../lib/http/operator/key-actions'
import { BULK_ACTIONS } from '../../../../lib/maintenance/bulk-action'
import type { RunKey } from '../../../../lib/maintenance/run-keys'
import type { RunView } from '../../../../lib/maintenance/run-view'
import { isRefused } from '../../../../lib/operators/refusal'
import { type Answer, answerTo } from '../../_shell/answer'

const RecordId = z.string().refine((text) => isId('idem', text))
const RunId = z.string().refine((text) => isId('run', text))
const MOST_ROWS = 200
const MOST_PICKED = 10_000

const Watched = z.object({
  filter: KeyFilter,
  since: z.object({ createdAt: Instant, id: z.string().regex(/^[\x21-\x7e]{0,64}$/) }),
  ids: z.array(RecordId).max(MOST_ROWS),
})

export async function watch(asked: z.input<typeof Watched>): Promise<Answer<{ fresh: number; rows: KeyRow[] }>> {
  return answerTo(Watched, asked, ({ call, services }, watched) => services.watchKeys(call, watched))
}

/** Every id that the filter matches, as far as one run would take them. */
export async function pickIds(filter: KeyFilter): Promise<Answer<string[]>> {
  return answerTo(KeyFilter, filter, ({ call, services }, picked) => services.pickKeys(call, { filter: picked }))
}

const Asked = z.object({
  action: z.enum(BULK_ACTIONS),
  keys: z.union([z.object({ filter: KeyFilter }), z.object({ ids: z.array(RecordId).min(1).max(MOST_PICKED) })]),
  reason: reasonOf(1),
})

/** The run that does it to each of them. */
export async function beginBulkRun(asked: z.input<typeof Asked>): Promise<Answer<{ id: string }>> {
  return answerTo(Asked, asked, async ({ call, services }, { action, keys, reason }) => {
    const run = await services.runBulk(call, { action, reason, ...keys })
    return isRefused(run) ? run : { id: run.id }
  })
}

const RunPage = z.object({ id: RunId, after: z.int().min(0), limit: z.int().min(1).max(MOST_ROWS) })

/** How far it is, and what became of a page of its keys. */
export async function watchRun(
  asked: z.input<typeof RunPage>,
): Promise<Answer<{ run: RunView; items: RunKey[]; next: number | null }>> {
  return answerTo(RunPage, asked, async ({ call, services }, { id, ...page }) => {
    const run = await services.seeRun(call, { id })
    if (isRefused(run)) return run
    const keys = await services.seeRunKeys(call, { runId: id, ...page })
    return isRefused(keys) ? keys : { run, ...keys }
  })
}

export async function stopRun(id: string): Promise<Answer<null>> {
  return answerTo(RunId, id, async ({ call, services }, run) => {
    const stopped = await services.abortRun(call, { id: run })
    return isRefused(stopped) ? stopped : null
  })
}
