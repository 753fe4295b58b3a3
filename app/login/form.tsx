'use client'
import { useActionState, useState } from 'react'
import { Button } from '../_ui/button'
import { TextField } from '../_ui/field'
import { signIn } from './sign-in'

export function SignInForm({ next }: { next: string | undefined }) {
  const [state, act, busy] = useActionState(signIn, { error: null })
  // React empties a form after its action; an address that was typed is kept.
  const [email, setEmail] = useState('')
  return (
    <form action={act} className="grid gap-3.5">
      <input type="hidden" name="next" value={next ?? ''} />
      <TextField
        label="Email"
        name="email"
        type="email"
        autoComplete="username"
        autoFocus
        required
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      {state.error && (
        <p role="alert" className="text-12 text-danger">
          {state.error}
        </p>
      )}
      <Button type="submit" kind="primary" size="tall" disabled={busy}>
        Sign in
      </Button>
    </form>
  )
}
