// A store for work that nothing waits for: one statement at a time, and after each a rest of twice the time that it and
// its reader took. However many ask, they leave two thirds of the room in process and database to others.
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Statement, Store } from './store'

const REST = 2

export function paced(store: Pick<Store, 'query'>): Pick<Store, 'query'> {
  let rested: Promise<unknown> = Promise.resolve()
  return {
    query<Row>(statement: Statement): Promise<Row[]> {
      const begunMs = rested.then(() => performance.now())
      const answered = begunMs.then(() => store.query<Row>(statement))
      rested = rest(begunMs, answered)
      return answered
    },
  }
}

async function rest(begunMs: Promise<number>, answered: Promise<unknown>): Promise<void> {
  await answered.catch(() => {})
  // By the loop's next turn the rows have been read.
  await turn()
  await sleep(REST * (performance.now() - (await begunMs)))
}
