// What sample traffic is made of, and how many requests of each.
import { count } from '../../_ui/words'

export interface PlannedPart {
  words: string
  requests: number
}

export const requestsIn = (plan: readonly PlannedPart[]): number =>
  plan.reduce((sum, { requests }) => sum + requests, 0)

export function TrafficPlan({ plan }: { plan: readonly PlannedPart[] }) {
  return (
    <dl>
      {plan.map(({ words, requests }) => (
        <div key={words} className="flex justify-between gap-4 border-b border-line py-1 last:border-b-0">
          <dt>{words}</dt>
          <dd className="text-text-2">{count(requests)}</dd>
        </div>
      ))}
    </dl>
  )
}
