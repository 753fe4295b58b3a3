'use server'
// Sample traffic: set it going, and stop it.
import { z } from 'zod'
import { isId } from '../../../lib/db/id'
import type { Run } from '../../../lib/maintenance/runs'
import { type Answer, answer, answerTo } from '../_shell/answer'

export type Begun = Pick<Run, 'id' | 'state'>

const begun = ({ id, state }: Run): Begun => ({ id, state })

export async function sendTraffic(): Promise<Answer<Begun>> {
  const sent = await answer(({ call, services }) => services.sendTraffic(call, undefined))
  return sent.ok ? { ok: true, value: begun(sent.value) } : sent
}

const RunId = z.string().refine((text) => isId('run', text))

export async function stopTraffic(id: string): Promise<Answer<Begun>> {
  const stopped = await answerTo(RunId, id, ({ call, services }, run) => services.abortRun(call, { id: run }))
  return stopped.ok ? { ok: true, value: begun(stopped.value) } : stopped
}
