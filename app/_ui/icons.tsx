// The two drawings that lucide does not have. Icons always stand beside a word, so readers skip them.
import type { LucideIcon, LucideProps } from 'lucide-react'

/** The only solid icon: an unknown outcome stands out in greyscale too. */
export const SolidQuestion = (({ size = 24, ...rest }: LucideProps) => (
  <svg
    aria-hidden="true"
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    strokeLinecap="round"
    strokeLinejoin="round"
    {...rest}
  >
    <circle cx="12" cy="12" r="11" fill="currentColor" />
    <path d="M9.09 9a3 3 0 0 1 5.83 1c0 2-3 3-3 3M12 17h.01" stroke="var(--bg)" strokeWidth="2.5" />
  </svg>
)) as unknown as LucideIcon

export function Logo() {
  return (
    <svg aria-hidden="true" width="16" height="16" viewBox="0 0 16 16">
      <path d="M1.2 9a6.8 6.8 0 0 1 13.6 0" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
      <circle cx="8" cy="9.6" r="3" fill="currentColor" />
    </svg>
  )
}
