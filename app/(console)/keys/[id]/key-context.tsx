'use client'
// What somebody who looks at a key has learned beyond what the page shows everybody: the request unmasked, and what the
// provider said when they asked. Both are theirs alone, and gone with the page.
import { createContext, type Dispatch, type ReactNode, type SetStateAction, use, useState } from 'react'
import type { Seen } from '../../../../lib/console/key-story-evidence'
import type { Input } from '../../../../lib/idempotency/operation'

interface Learned {
  request: Input | null
  seen: Seen | null
}

const Context = createContext<[Learned, Dispatch<SetStateAction<Learned>>]>([{ request: null, seen: null }, () => {}])

export const useLearned = () => use(Context)

export const KeyProvider = ({ children }: { children: ReactNode }) => (
  <Context value={useState<Learned>({ request: null, seen: null })}>{children}</Context>
)
