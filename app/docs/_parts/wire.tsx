// Text as it goes over the wire, on a well. It wraps and never scrolls: what is cut off is what somebody needs.
import type { ReactNode } from 'react'
import styles from './wire.module.css'

export function Wire({ children, label }: { children: ReactNode; label?: string }) {
  return (
    <figure className={styles.figure}>
      {label && <figcaption className={styles.label}>{label}</figcaption>}
      <pre className={styles.well}>
        <code>{children}</code>
      </pre>
    </figure>
  )
}

/** What fits beside the words of the reference. */
const LINE = 62

/** JSON as a person would write it: what fits on a line stays on it. `taken` is what stands before it there. */
export function pretty(value: unknown, indent = '', taken = 0): string {
  const line = oneLine(value)
  if (indent.length + taken + line.length <= LINE || value === null || typeof value !== 'object') return line
  const inner = `${indent}  `
  if (Array.isArray(value)) return `[\n${value.map((item) => inner + pretty(item, inner)).join(',\n')}\n${indent}]`
  const members = Object.entries(value).map(([name, member]) => {
    const head = `${JSON.stringify(name)}: `
    return inner + head + pretty(member, inner, head.length)
  })
  return `{\n${members.join(',\n')}\n${indent}}`
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return value.length ? `[${value.map(oneLine).join(', ')}]` : '[]'
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}: ${oneLine(member)}`)
    .join(', ')} }`
}
