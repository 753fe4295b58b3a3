'use client'
// One of the roles, each with what it may.
import clsx from 'clsx'
import { ROLES, type Role } from '../../../lib/operators/role'
import { ROLE_WORDS } from './role-words'

export function RoleChoice({ value, onChange }: { value: Role; onChange(role: Role): void }) {
  return (
    <fieldset className="grid gap-1.5">
      <legend className="mb-1.5 font-medium">Role</legend>
      <div className="rounded-2 border border-line-control">
        {ROLES.map((role) => (
          <label
            key={role}
            className={clsx(
              'flex cursor-pointer items-start gap-2.5 px-3 py-2 not-first:border-t not-first:border-line',
              'has-focus-visible:outline-2 has-focus-visible:-outline-offset-1 has-focus-visible:outline-ink',
              value === role && 'bg-selected',
            )}
          >
            <input
              type="radio"
              name="role"
              value={role}
              checked={value === role}
              onChange={() => onChange(role)}
              className="mt-[3px] size-3.5 accent-(--ink) outline-none"
            />
            <span>
              <span className="font-medium">{role}</span>
              <span className="block text-12 text-text-2">{ROLE_WORDS[role]}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}
