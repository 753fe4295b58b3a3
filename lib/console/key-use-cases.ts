// What the page of one key and the queue of unknown ones show beside what the API has.
import type { Store } from '../db/store'
import type { Guard, UseCase } from '../operators/use-case'
import { findNeighbours, type Neighbours } from './key-neighbours'
import type { KeyFilter } from './keys-filter'
import { type QueueOrder, readUnknownQueue, type UnknownQueue } from './unknown-queue'

export interface KeyUseCases {
  keyNeighbours: UseCase<{ filter: KeyFilter; createdAt: string; id: string }, Neighbours>
  unknownQueue: UseCase<{ order: QueueOrder }, UnknownQueue>
  /** By which a key's story is read. */
  rules: KeyRules
}

export interface KeyRules {
  settleMs: number
  maxLookUps: number
}

export function keyUseCases({ store, rules }: { store: Store; rules: KeyRules }, guard: Guard): KeyUseCases {
  return {
    keyNeighbours: guard({ action: 'key.list', role: 'viewer' }, (_, asked) => findNeighbours(store, asked)),
    unknownQueue: guard({ action: 'key.list', role: 'viewer' }, (_, { order }) =>
      readUnknownQueue(store, { order, maxLookUps: rules.maxLookUps }),
    ),
    rules,
  }
}
