'use client'
// One choice of many, in the URL: a button with what is chosen, and a menu of links.
import { Check, ChevronDown } from 'lucide-react'
import Link from 'next/link'
import { Button } from '../../_ui/button'
import { Menu, MenuItem } from '../../_ui/menu'

interface Choice {
  label: string
  href: string
}

interface FilterProps {
  name: string
  /** The label of what is chosen. */
  chosen: string
  choices: readonly Choice[]
}

export function Filter({ name, chosen, choices }: FilterProps) {
  return (
    <Menu
      align="start"
      trigger={
        <Button>
          <span className="font-normal text-text-2">{name}</span>
          <span className="max-w-32 truncate">{chosen}</span>
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      {choices.map(({ label, href }) => (
        <MenuItem key={href} asChild>
          <Link href={href} scroll={false} aria-current={label === chosen || undefined}>
            <Check size={14} aria-hidden className={label === chosen ? undefined : 'invisible'} />
            {label}
          </Link>
        </MenuItem>
      ))}
    </Menu>
  )
}
