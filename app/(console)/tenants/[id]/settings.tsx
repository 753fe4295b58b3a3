'use client'
// What a tenant may do. Only what was changed here is sent: two admins who change different things at once lose nothing,
// and what somebody else has changed meanwhile is said beside the field.
import { useRouter } from 'next/navigation'
import { useState, useTransition } from 'react'
import type { TenantSettings } from '../../../../lib/tenants/tenant'
import { Button } from '../../../_ui/button'
import { TextField } from '../../../_ui/field'
import { Failure } from '../../../_ui/section'
import { useToast } from '../../../_ui/toast'
import { count } from '../../../_ui/words'
import { updateTenant } from '../actions'

type Changeable = Omit<TenantSettings, 'disabled'>
type Field = keyof Changeable

interface SettingsProps {
  tenant: Changeable & { id: string }
  forbiddenBy: string | null
}

const MAX_INT4 = 2 ** 31 - 1
const A_YEAR_IN_HOURS = 366 * 24

const FIELDS: Record<Field, { label: string; hint: string; read(text: string): Changeable[Field] | undefined }> = {
  name: { label: 'Name', hint: 'As people say it.', read: (text) => text || undefined },
  retentionHours: {
    label: 'Retention, hours',
    hint: 'How long a key replays. Empty: as each endpoint has it. Holds for keys made from now on.',
    read: (text) => (text === '' ? null : numberIn(text, 0, A_YEAR_IN_HOURS, (n) => n > 0)),
  },
  newKeysPerMinute: {
    label: 'New keys a minute, at most',
    hint: 'Of all nodes together. Beyond it: 429. Replays are never counted.',
    read: (text) => numberIn(text, 0, MAX_INT4, Number.isInteger),
  },
  liveKeyCap: {
    label: 'Live keys, at most',
    hint: 'Keys that are not expired. Beyond it: 429.',
    read: (text) => numberIn(text, 0, MAX_INT4, Number.isInteger),
  },
}
const NAMES = Object.keys(FIELDS) as Field[]

const WRONG: Record<Field, string> = {
  name: 'A tenant needs a name.',
  retentionHours: `More than 0 and at most ${count(A_YEAR_IN_HOURS)} hours, or empty.`,
  newKeysPerMinute: `A whole number from 0 to ${count(MAX_INT4)}.`,
  liveKeyCap: `A whole number from 0 to ${count(MAX_INT4)}.`,
}

function numberIn(text: string, least: number, most: number, fits: (n: number) => boolean): number | undefined {
  const n = Number(text.replaceAll(',', ''))
  return text !== '' && n >= least && n <= most && fits(n) ? n : undefined
}

const textOf = (value: Changeable[Field]): string => (value === null ? '' : String(value))

/** What was typed, and what stood there when somebody began to type. */
type Edits = Partial<Record<Field, { text: string; over: string }>>

export function Settings({ tenant, forbiddenBy }: SettingsProps) {
  const router = useRouter()
  const tell = useToast()
  const [edits, setEdits] = useState<Edits>({})
  const [errors, setErrors] = useState<Partial<Record<Field, string>>>({})
  const [failure, setFailure] = useState<string | null>(null)
  const [saving, save] = useTransition()
  const changed = NAMES.filter((name) => edits[name] && edits[name].text.trim() !== textOf(tenant[name]))

  function submit(event: React.FormEvent) {
    event.preventDefault()
    if (forbiddenBy || changed.length === 0) return
    const read = changed.map((name) => [name, FIELDS[name].read(edits[name]!.text.trim())] as const)
    const wrong = read.filter(([, value]) => value === undefined)
    setErrors(Object.fromEntries(wrong.map(([name]) => [name, WRONG[name]])))
    setFailure(null)
    if (wrong.length > 0) return
    save(async () => {
      const saved = await updateTenant(tenant.id, Object.fromEntries(read))
      if (!saved.ok) {
        setErrors(saved.issues ?? {})
        return setFailure(saved.issues ? null : saved.message)
      }
      setEdits({})
      tell('Saved.', 'Every node has it within seconds.')
      router.refresh()
    })
  }

  return (
    <form onSubmit={submit} className="grid max-w-[420px] gap-4" noValidate>
      {NAMES.map((name) => {
        const edit = edits[name]
        const current = textOf(tenant[name])
        const overtaken = edit && edit.over !== current && edit.text !== current
        return (
          <TextField
            key={name}
            label={FIELDS[name].label}
            value={edit?.text ?? current}
            disabled={forbiddenBy !== null}
            inputMode={name === 'name' ? undefined : 'decimal'}
            error={errors[name]}
            hint={
              overtaken ? (
                <strong className="font-semibold text-text">
                  Somebody has set this to {current || 'nothing'} meanwhile. Saving sets it to what you typed.
                </strong>
              ) : (
                FIELDS[name].hint
              )
            }
            onChange={({ target }) =>
              setEdits((before) => ({ ...before, [name]: { text: target.value, over: before[name]?.over ?? current } }))
            }
          />
        )
      })}
      {failure && <Failure>It was not saved. {failure}</Failure>}
      <div className="flex items-center gap-3">
        <Button
          type="submit"
          kind={changed.length > 0 ? 'primary' : 'plain'}
          disabled={saving}
          aria-disabled={forbiddenBy || changed.length === 0 ? true : undefined}
          aria-describedby={forbiddenBy ?? undefined}
        >
          Save
        </Button>
        {changed.length > 0 && (
          <Button kind="quiet" onClick={() => setEdits({})}>
            Undo
          </Button>
        )}
      </div>
    </form>
  )
}
