'use server'
// What a person can set going here, and watch.
import { z } from 'zod'
import { databaseNowMs } from '../../../lib/db/clock'
import { isId } from '../../../lib/db/id'
import { reasonOf } from '../../../lib/http/operator/key-actions'
import { DAEMONS } from '../../../lib/maintenance/daemon'
import type { Run } from '../../../lib/maintenance/runs'
import { isRefused } from '../../../lib/operators/refusal'
import { type Answer, answerTo } from '../_shell/answer'

/** A quick run is there when the page comes back; of any other the page shows how far it is. */
const PATIENCE_MS = 800
/** A count that is older is made again before somebody decides by it. */
const FRESH_MS = 60_000

const Kind = z.enum(DAEMONS)
const RunId = z.string().refine((text) => isId('run', text))
const Reason = z.preprocess((text) => (text === '' ? undefined : text), reasonOf(1).optional())

/** What of a run the page has to know at once. */
export type Begun = Pick<Run, 'id' | 'kind' | 'action' | 'state' | 'done' | 'counts' | 'finishedAt' | 'error'>

export async function dryRun(kind: string): Promise<Answer<Begun>> {
  return answerTo(Kind, kind, ({ call, services }, daemon) =>
    services.runDaemon[daemon](call, { dryRun: true, patienceMs: PATIENCE_MS }),
  )
}

export async function runNow(asked: { kind: string; reason: string }): Promise<Answer<Begun>> {
  return answerTo(z.object({ kind: Kind, reason: Reason }), asked, ({ call, services }, { kind, reason }) =>
    services.runDaemon[kind](call, { dryRun: false, reason, patienceMs: PATIENCE_MS }),
  )
}

/** The count to decide by: that of the last minute, or a new one. */
export async function preview(kind: string): Promise<Answer<Begun>> {
  return answerTo(Kind, kind, async ({ call, services }, daemon) => {
    const seen = await services.seeDaemons(call, undefined)
    if (isRefused(seen)) return seen
    const last = seen.daemons.find((status) => status.kind === daemon)?.dryRun
    const fresh = last?.finishedAt && databaseNowMs() - last.finishedAt.getTime() < FRESH_MS
    return fresh ? last : services.runDaemon[daemon](call, { dryRun: true, patienceMs: PATIENCE_MS })
  })
}

export async function watchRun(id: string): Promise<Answer<Begun>> {
  return answerTo(RunId, id, ({ call, services }, run) => services.seeRun(call, { id: run }))
}

export async function stopRun(id: string): Promise<Answer<Begun>> {
  return answerTo(RunId, id, ({ call, services }, run) => services.abortRun(call, { id: run }))
}
