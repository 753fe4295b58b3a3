// The window that the page looks at, as the URL has it, and as people say it.
import { WINDOWS, type Window } from '../../../lib/console/window'

/** "the last …" */
export const WINDOW_WORDS: Record<Window, string> = { '1h': 'hour', '24h': 'day', '7d': '7 days', '30d': '30 days' }

export const WINDOW_LABELS: Record<Window, string> = { '1h': '1 h', '24h': '24 h', '7d': '7 d', '30d': '30 d' }

export const STEP_WORDS: Record<Window, string> = {
  '1h': 'One bucket a minute.',
  '24h': 'One bucket for ten minutes.',
  '7d': 'One bucket an hour.',
  '30d': 'One bucket for six hours.',
}

export interface View {
  window: Window
  tenant?: string
  endpoint?: string
}

type Sent = Record<string, string | string[] | undefined>

const LONGEST = 255

export function viewOf({ window, tenant, endpoint }: Sent): View {
  const text = (value: Sent[string]) =>
    typeof value === 'string' && value.length > 0 && value.length <= LONGEST && !value.includes('\0')
      ? value
      : undefined
  return {
    window: WINDOWS.find((one) => one === window) ?? '1h',
    ...(text(tenant) ? { tenant: text(tenant) } : {}),
    ...(text(endpoint) ? { endpoint: text(endpoint) } : {}),
  }
}

/** The address of this page with another choice. What is chosen by itself is not said. */
export function hrefOf({ window, tenant, endpoint }: View): string {
  const query = new URLSearchParams()
  if (window !== '1h') query.set('window', window)
  if (tenant !== undefined) query.set('tenant', tenant)
  if (endpoint !== undefined) query.set('endpoint', endpoint)
  return query.size > 0 ? `/?${query}` : '/'
}

export const isFiltered = ({ tenant, endpoint }: View): boolean => tenant !== undefined || endpoint !== undefined

/** The list of keys, within what the page is filtered by. */
export function keysHref(
  { tenant, endpoint }: Pick<View, 'tenant' | 'endpoint'>,
  more: Record<string, string>,
): string {
  const query = new URLSearchParams(more)
  if (tenant !== undefined) query.set('tenant', tenant)
  if (endpoint !== undefined) query.set('endpoint', endpoint)
  return `/keys?${query}`
}
