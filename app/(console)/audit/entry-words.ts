// What an entry of the audit log is about, and what it changed. Pure.
import type { AuditEntry } from '../../../lib/audit/read'

/** The page of what it was done to; null where it has none. */
export function targetHref({ target, before, after }: Pick<AuditEntry, 'target' | 'before' | 'after'>): string | null {
  if (!target) return null
  switch (target.split('_')[0]) {
    case 'idem':
      return `/keys/${target}`
    case 'ten':
      return `/tenants/${target}`
    case 'run':
      return `/maintenance/runs/${target}`
    case 'opr':
    case 'tok':
      return '/operators'
    case 'dis':
      return '/reconciliation'
    case 'key': {
      const tenantId = membersOf(after).tenantId ?? membersOf(before).tenantId
      return typeof tenantId === 'string' ? `/tenants/${tenantId}#api-keys` : null
    }
    default:
      return null
  }
}

/** A run that was asked for only to count. */
export const isDryRun = ({ after }: Pick<AuditEntry, 'after'>): boolean => membersOf(after).dryRun === true

export interface Change {
  member: string
  /** Undefined where there was none, or is none any more. */
  before?: string
  after?: string
}

/** Only what differs. Of what was made or is gone: all of it. */
export function changesOf({ before, after }: Pick<AuditEntry, 'before' | 'after'>): Change[] {
  const [was, is] = [membersOf(before), membersOf(after)]
  return [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .map((member) => ({ member, before: textOf(was[member]), after: textOf(is[member]) }))
    .filter((change) => change.before !== change.after)
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function textOf(value: unknown): string | undefined {
  if (value === undefined) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
