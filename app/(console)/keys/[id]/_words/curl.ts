// The client's retry as a line for a shell. The secret is never in it: it comes from the environment of whoever runs it.

import type { Input } from '../../../../../lib/idempotency/operation'

const LEFT_OUT = ['paymentMethod', 'note', 'reason'] as const

export interface Retried {
  /** Where the API is. */
  origin: string
  /** Method and route template. */
  endpoint: string
  /** As it stands in the header. */
  quotedKey: string
  request: Input
  /** Whether `request` is as it was sent: otherwise what is masked in it is left out. */
  unmasked: boolean
}

export function curlOf({ origin, endpoint, quotedKey, request, unmasked }: Retried): string {
  const [method = 'POST', template = ''] = endpoint.split(' ')
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(request.params[name] ?? ''))
  const left = unmasked ? [] : LEFT_OUT.filter((name) => name in members(request.body))
  const body = Object.fromEntries(
    Object.entries(members(request.body)).filter(([name]) => !(left as string[]).includes(name)),
  )
  const parts = [
    `curl -i -X ${method} ${quoted(origin + path)}`,
    `-H "Authorization: Bearer $ONCEOVER_API_KEY"`,
    `-H ${quoted(`Idempotency-Key: ${quotedKey}`)}`,
    `-H 'Content-Type: application/json'`,
    `--data ${quoted(JSON.stringify(body))}`,
  ]
  const line = parts.join(' \\\n  ')
  return left.length === 0
    ? line
    : `# Without ${left.join(' and ')}, masked in the console: add it, or the API refuses this.\n${line}`
}

const members = (body: unknown): object => (typeof body === 'object' && body !== null ? body : {})

/** For a POSIX shell: nothing in it is expanded. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
