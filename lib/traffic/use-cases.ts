// Sending sample traffic: one at a time over all nodes, and only where the provider is the sandbox.
import { appendAudit } from '../audit/append'
import { violatedConstraint } from '../db/sqlstate'
import type { Tx } from '../db/store'
import type { Runner } from '../maintenance/runner'
import { failDeadRuns, type Run } from '../maintenance/runs'
import { refuse } from '../operators/refusal'
import type { Guard, UseCase } from '../operators/use-case'
import { samplePlan } from './plan'
import { type SampleTraffic, sampleTraffic } from './sample-traffic'

const ACTION = 'traffic.send'
const ONE_AT_A_TIME = 'runs_one_traffic'

export interface TrafficUseCases {
  /** The run, which has just begun. */
  sendTraffic: UseCase<undefined, Run>
}

export interface Traffic extends SampleTraffic {
  runner: Pick<Runner, 'run'>
  /** Sample traffic charges: nobody may be behind it. */
  isSandbox: boolean
}

export function trafficUseCases({ runner, isSandbox, ...traffic }: Traffic, guard: Guard): TrafficUseCases {
  return {
    sendTraffic: guard({ action: ACTION, role: 'operator' }, async (call) => {
      if (!isSandbox) return refuse('not_found', { detail: 'Sample traffic is for the sandbox provider only.' })
      const id = call.newId('run')
      const plan = samplePlan()
      const entry = { ...call, action: ACTION, target: id, after: { steps: plan.length } }
      const also = (tx: Tx) => appendAudit(tx, entry)
      const request = { id, dryRun: false, scheduled: false, requestedBy: call.actor.id, reason: null, also }
      // One whose node died holds nobody up.
      await failDeadRuns(traffic.store)
      try {
        return await runner.run(sampleTraffic(traffic, call, plan), request, 0)
      } catch (error) {
        if (violatedConstraint(error) === ONE_AT_A_TIME) return refuse('already_running')
        throw error
      }
    }),
  }
}
