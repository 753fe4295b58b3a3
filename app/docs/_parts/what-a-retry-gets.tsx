// The whole promise in six rows: what the same request with the same key gets, by the state of its record.
import { STATES, type State } from '../../../lib/idempotency/states'
import { StateMark } from '../../_ui/state-mark'
import table from './table.module.css'

const ANSWERS: Record<State, { means: string; gets: string }> = {
  pending: { means: 'Accepted with respond-async; no worker has it yet.', gets: '202 and the record.' },
  in_progress: {
    means: 'The first request is still running.',
    gets: '409, or its answer as soon as there is one with Prefer: wait=N.',
  },
  completed: {
    means: 'The answer is stored.',
    gets: 'The first answer, byte for byte, with Idempotent-Replayed: true.',
  },
  failed_retryable: { means: 'Proven: nothing was charged.', gets: 'It runs again.' },
  unknown: {
    means: 'May have charged. It is being found out.',
    gets: '409 until it is known. Nothing runs again meanwhile.',
  },
  expired: { means: 'The answer is not kept any more.', gets: '410, with what the first request made.' },
}

export function WhatARetryGets() {
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">State of the key</th>
          <th scope="col">What it means</th>
          <th scope="col">What the same request gets</th>
        </tr>
      </thead>
      <tbody>
        {STATES.map((state) => (
          <tr key={state}>
            <th scope="row" className={table.keep}>
              <StateMark state={state} />
            </th>
            <td className={table.quiet}>{ANSWERS[state].means}</td>
            <td>{ANSWERS[state].gets}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
