// An answer as it goes over the wire: status line, headers, body.
import { STATUS_CODES } from 'node:http'

export interface WireText {
  status: string
  headers: [name: string, value: string][]
  body: string
}

interface Sent {
  status: number
  headers: Record<string, string>
  body: string
}

/** Names of headers are the same in any case; this is the one that people know them by. */
const named = (name: string): string => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase())

export const wireOf = ({ status, headers, body }: Sent): WireText => ({
  status: `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`.trim(),
  headers: Object.entries(headers).map(([name, value]) => [named(name), value]),
  body,
})
