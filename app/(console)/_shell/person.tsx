'use client'
// Who is signed in, and what is theirs to choose.
import { ChevronsUpDown } from 'lucide-react'
import Link from 'next/link'
import type { Role } from '../../../lib/operators/role'
import { Menu, MenuItem, MenuLabel, MenuLine } from '../../_ui/menu'
import type { Theme } from '../../_ui/preferences'
import { useTheme } from '../../_ui/theme'
import { signOut } from './sign-out'

const THEMES: { value: Theme; label: string }[] = [
  { value: 'system', label: 'As the system' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

export function Person({ name, role }: { name: string; role: Role }) {
  const [theme, setTheme] = useTheme()
  const initials = name
    .split(/\s+/)
    .map((word) => word[0])
    .join('')
    .slice(0, 2)
    .toUpperCase()
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex w-full cursor-pointer items-center gap-2.5 rounded-2 px-2 py-1.5 text-left hover:bg-hover"
        >
          <span
            aria-hidden
            className="flex size-6 shrink-0 items-center justify-center rounded-full bg-selected text-11 font-semibold"
          >
            {initials}
          </span>
          <span className="min-w-0 flex-1 leading-4">
            <span className="block truncate">{name}</span>
            <span className="block text-12 text-text-2">{role}</span>
          </span>
          <ChevronsUpDown size={14} aria-hidden className="text-text-2" />
        </button>
      }
    >
      <MenuLabel>Look</MenuLabel>
      {THEMES.map(({ value, label }) => (
        <MenuItem key={value} onSelect={() => setTheme(value)} aria-checked={theme === value} role="menuitemradio">
          <span className="w-3">{theme === value ? '✓' : ''}</span>
          {label}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem asChild>
        <Link href="/account">Your account</Link>
      </MenuItem>
      <MenuItem onSelect={() => signOut()}>Sign out</MenuItem>
    </Menu>
  )
}
