'use client'
// One's own password. What was typed stays where it is wrong, and goes when it is done.
import { useRouter } from 'next/navigation'
import { type FormEvent, useState, useTransition } from 'react'
import { Button } from '../../_ui/button'
import { TextField } from '../../_ui/field'
import { Failure } from '../../_ui/section'
import { useToast } from '../../_ui/toast'
import { changePassword } from './actions'

const LEAST = 12

type Field = 'current' | 'next' | 'repeated'

const NOTHING = { current: '', next: '', repeated: '' }

export function OwnPassword({ email }: { email: string }) {
  const router = useRouter()
  const tell = useToast()
  const [typed, setTyped] = useState(NOTHING)
  const [errors, setErrors] = useState<Partial<Record<Field, string>>>({})
  const [failure, setFailure] = useState<string | null>(null)
  const [saving, save] = useTransition()

  const field = (name: Field) => ({
    type: 'password',
    required: true,
    maxLength: 128,
    value: typed[name],
    error: errors[name],
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  })

  function submit(event: FormEvent) {
    event.preventDefault()
    const wrong: typeof errors = {}
    if (typed.next.length < LEAST) wrong.next = `At least ${LEAST} characters.`
    if (typed.next !== typed.repeated) wrong.repeated = 'This is not the same.'
    setErrors(wrong)
    setFailure(null)
    if (Object.keys(wrong).length > 0) return
    save(async () => {
      const changed = await changePassword({ currentPassword: typed.current, newPassword: typed.next })
      if (changed.ok) {
        setTyped(NOTHING)
        tell('Password changed.', 'Your other sessions have ended.')
        return router.refresh()
      }
      const { currentPassword, newPassword } = changed.issues ?? {}
      if (currentPassword) setErrors({ current: 'This is not your password.' })
      else if (newPassword) setErrors({ next: newPassword })
      else setFailure(changed.message)
    })
  }

  return (
    <form onSubmit={submit} className="grid max-w-80 gap-3.5">
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <TextField label="Current password" autoComplete="current-password" {...field('current')} />
      <TextField
        label="New password"
        autoComplete="new-password"
        hint={`At least ${LEAST} characters. Your other sessions end with the old one.`}
        {...field('next')}
      />
      <TextField label="New password, once more" autoComplete="new-password" {...field('repeated')} />
      {failure && <Failure>{failure}</Failure>}
      <div>
        <Button type="submit" kind="primary" disabled={saving}>
          Change password
        </Button>
      </div>
    </form>
  )
}
