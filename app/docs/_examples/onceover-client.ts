// A client that may be cut off, timed out and restarted at any moment and still charges once.
// One file, no dependencies, for Node 20 and newer.
//
// It sends the same bytes with the same key until there is a final answer, or until it gives up,
// which it says with an error of its own. It never makes a key: make one for each thing that is
// to happen once, and store it before the first try.

export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: string
  retry: { sameKey: boolean; newKey: boolean; afterSeconds: number | null }
  issues?: { path: string; message: string }[]
  resource?: { type: string; id: string } | null
  response?: { status: number } | null
}

export interface Answer<Body> {
  status: number
  body: Body
  /** The first answer again: this time nothing was done. */
  replayed: boolean
  /** Until when the same request gets this answer. */
  expiresAt: Date | null
  tries: number
}

/** A final answer, and not a good one. The same request would get it again. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number
  /** Null where something between us and Onceover has answered. */
  readonly problem: Problem | null

  constructor(status: number, problem: Problem | null) {
    super(
      problem ? `${status} ${problem.code}: ${problem.detail}` : `${status}, not by Onceover`,
    )
    this.status = status
    this.problem = problem
  }
}

/** No final answer in time. It may have happened: keep the key, send the same again later. */
export class NotKnownYet extends Error {
  override readonly name = 'NotKnownYet'
  readonly retryAfterMs: number

  constructor(retryAfterMs: number, cause: unknown) {
    super('There is no final answer yet. Keep the key.', { cause })
    this.retryAfterMs = retryAfterMs
  }
}

export interface ClientOptions {
  url: string
  apiKey: string
  /** One try. Longer than `waitSeconds` and than the service's own wait for its provider. */
  timeoutMs?: number
  /** All tries of one call. Afterwards it is up to whoever finds the stored key. */
  giveUpAfterMs?: number
  firstDelayMs?: number
  longestDelayMs?: number
  /** How long a try may wait for the one before it, instead of being told to come back. */
  waitSeconds?: number
  pause?: (ms: number) => Promise<void>
  random?: () => number
}

export interface PostOptions {
  /** Let a worker do it; the answer is fetched when it is there. */
  respondAsync?: boolean
  /** When the key was made, for a service that refuses old requests. */
  madeAt?: Date
}

export type Client = ReturnType<typeof createClient>

type Try<Body> = { answer: Omit<Answer<Body>, 'tries'> } | { afterMs: number; why: unknown }

export function createClient({
  url,
  apiKey,
  timeoutMs = 30_000,
  giveUpAfterMs = 120_000,
  firstDelayMs = 500,
  longestDelayMs = 30_000,
  waitSeconds = 10,
  pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random = Math.random,
}: ClientOptions) {
  const authorization = `Bearer ${apiKey}`

  async function post<Body>(
    path: string,
    key: string,
    body: unknown,
    options: PostOptions = {},
  ) {
    const { respondAsync = false, madeAt } = options
    const headers = new Headers({
      authorization,
      'content-type': 'application/json',
      'idempotency-key': `"${key.replace(/["\\]/g, '\\$&')}"`,
      prefer: respondAsync ? `respond-async, wait=${waitSeconds}` : `wait=${waitSeconds}`,
    })
    if (madeAt) headers.set('date', madeAt.toUTCString())
    // The body is written once: a try that differs is another request.
    return send<Body>(path, { method: 'POST', headers, body: JSON.stringify(body) })
  }

  const get = <Body>(path: string) => send<Body>(path, { headers: { authorization } })

  async function send<Body>(path: string, init: RequestInit): Promise<Answer<Body>> {
    // Made outside of the loop: what can't be sent at all is no reason to try again. A redirect
    // is not followed, because it would turn a POST into a GET.
    const request = new Request(new URL(path, url), { ...init, redirect: 'manual' })
    const giveUpAt = performance.now() + giveUpAfterMs
    for (let tries = 1; ; tries++) {
      const result = await tryOnce<Body>(request.clone())
      if ('answer' in result) return { ...result.answer, tries }
      // Never before the time that the answer names. On top of it a random part of a delay that
      // doubles: many clients that were refused at once do not come back at once.
      const delay = Math.min(longestDelayMs, firstDelayMs * 2 ** (tries - 1))
      const afterMs = Math.ceil(result.afterMs + random() * delay)
      if (performance.now() + afterMs > giveUpAt) throw new NotKnownYet(afterMs, result.why)
      await pause(afterMs)
    }
  }

  async function tryOnce<Body>(request: Request): Promise<Try<Body>> {
    let response: Response
    let text: string
    try {
      response = await fetch(request, { signal: AbortSignal.timeout(timeoutMs) })
      text = await response.text()
    } catch (why) {
      // No answer, or half of one. It may have happened: only the same key finds out.
      return { afterMs: 0, why }
    }
    const { status, headers } = response
    const value = parseJson(text)
    const problem = isProblem(value) ? value : null
    const final = response.ok && status !== 202 && value !== undefined
    if (final)
      return {
        answer: {
          status,
          body: value as Body,
          replayed: headers.get('idempotent-replayed') === 'true',
          expiresAt: dateOf(headers.get('idempotency-expires')),
        },
      }
    // 202: a worker has it. An error without a problem is a proxy's, which knows no keys.
    const goOn = problem
      ? problem.retry.sameKey && problem.retry.afterSeconds !== null
      : response.ok || status >= 500 || status === 429
    if (!goOn) throw new Refused(status, problem)
    return { afterMs: retryAfterMs(headers, problem), why: problem ?? `${status} ${text}` }
  }

  return { post, get }
}

function retryAfterMs(headers: Headers, problem: Problem | null): number {
  const said = headers.get('retry-after') ?? ''
  const fromHeader = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now()
  return Math.max(0, fromHeader || 0, (problem?.retry.afterSeconds ?? 0) * 1000)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' && value !== null && 'code' in value && 'retry' in value

const dateOf = (text: string | null): Date | null => (text === null ? null : new Date(text))
