// The way about: every page of the console, in the order of the sidebar.
import {
  BookOpen,
  Building2,
  FingerprintPattern,
  GitCompareArrows,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  ScrollText,
  Users,
  Wrench,
} from 'lucide-react'

export interface Page {
  href: string
  label: string
  icon: LucideIcon
  /** Not a page of the console: the browser loads it anew. */
  isPublic?: true
}

export const WORK: readonly Page[] = [
  { href: '/', label: 'Overview', icon: LayoutDashboard },
  { href: '/keys', label: 'Keys', icon: KeyRound },
  { href: '/reconciliation', label: 'Reconciliation', icon: GitCompareArrows },
  { href: '/misuse', label: 'Misuse', icon: FingerprintPattern },
  { href: '/maintenance', label: 'Maintenance', icon: Wrench },
]

export const REFERENCE: Page = { href: '/docs', label: 'API reference', icon: BookOpen, isPublic: true }

export const ACCESS: readonly Page[] = [
  { href: '/tenants', label: 'Tenants', icon: Building2 },
  { href: '/operators', label: 'Operators', icon: Users },
  { href: '/audit', label: 'Audit log', icon: ScrollText },
  REFERENCE,
]
