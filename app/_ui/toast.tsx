'use client'
// One sentence, bottom right, for what went well. Never for errors: those stay where they happened.
import { Check, X } from 'lucide-react'
import { Toast as Radix } from 'radix-ui'
import { createContext, type ReactNode, use, useCallback, useState } from 'react'

const SHOWN_MS = 6000

interface Shown {
  id: number
  strong: string
  rest?: string
}

const Tell = createContext<(strong: string, rest?: string) => void>(() => {})

export const useToast = () => use(Tell)

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Shown[]>([])
  const tell = useCallback((strong: string, rest?: string) => {
    setShown((before) => [...before.slice(-2), { id: Date.now() + Math.random(), strong, rest }])
  }, [])
  return (
    <Tell value={tell}>
      <Radix.Provider duration={SHOWN_MS} label="Notice">
        {children}
        {shown.map(({ id, strong, rest }) => (
          <Radix.Root
            key={id}
            onOpenChange={(open) => !open && setShown((all) => all.filter((one) => one.id !== id))}
            className="flex items-center gap-3 rounded-3 border border-line-control bg-raised px-4 py-3 shadow-2"
          >
            <Check size={16} aria-hidden className="shrink-0" />
            <Radix.Description className="min-w-0 flex-1">
              <strong className="font-semibold">{strong}</strong> {rest}
            </Radix.Description>
            <Radix.Close aria-label="Dismiss" className="cursor-pointer rounded-1 p-1 text-text-2 hover:bg-hover">
              <X size={14} aria-hidden />
            </Radix.Close>
          </Radix.Root>
        ))}
        <Radix.Viewport className="fixed right-6 bottom-6 z-60 flex w-[min(440px,calc(100vw-48px))] flex-col gap-2 outline-none" />
      </Radix.Provider>
    </Tell>
  )
}
