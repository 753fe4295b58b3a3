// A request as bytes, and what comes back, through a socket of its own: a client library would mend or refuse most of
// what is sent here. Text stands for bytes, one character each (latin1), so that a counterexample can be read.
import net from 'node:net'

/** How a body is announced: right, or so that the server can't tell where it ends. */
export const RIGHT_FRAMINGS = ['length', 'chunked'] as const
export const BROKEN_FRAMINGS = ['none', 'too short', 'too long', 'both', 'bad chunk', 'not a number'] as const

export interface BadRequest {
  method: string
  target: string
  headers: (readonly [name: string, value: string])[]
  body: string
  framing: (typeof RIGHT_FRAMINGS | typeof BROKEN_FRAMINGS)[number]
  /** White space behind the body, up to this size: how a body gets exactly as large as it may be, and larger. */
  padTo?: number
}

export interface WireAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** Null: the server closed the connection without a word. */
export type Exchange = { answer: WireAnswer | null; ms: number }

class Hung extends Error {}

export const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** `names` are the words between the at signs: ids and secrets that differ from run to run. */
export function render(request: BadRequest, names: (name: string) => string, host: string): string {
  const given = (text: string) => text.replace(/@([a-z-]+)@/g, (_, name) => names(name))
  const body = given(request.body).padEnd(request.padTo ?? 0, ' ')
  const has = (name: string) => request.headers.some(([one]) => one.toLowerCase() === name)
  const lines = request.headers.map(([name, value]) => `${name}: ${given(value)}`)
  if (!has('host')) lines.unshift(`Host: ${host}`)
  const { announced, sent } = frame(request.framing, body)
  return [`${request.method} ${given(request.target)} HTTP/1.1`, ...lines, ...announced, '', sent].join('\r\n')
}

function frame(framing: BadRequest['framing'], body: string): { announced: string[]; sent: string } {
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n`
  const chunks = `${body === '' ? '' : chunk}0\r\n\r\n`
  switch (framing) {
    case 'length':
      return { announced: body === '' ? [] : [`Content-Length: ${body.length}`], sent: body }
    case 'chunked':
      return { announced: ['Transfer-Encoding: chunked'], sent: chunks }
    case 'none':
      return { announced: [], sent: body }
    case 'too short':
      return { announced: [`Content-Length: ${Math.max(0, body.length - 1)}`], sent: body }
    case 'too long':
      return { announced: [`Content-Length: ${body.length + 1}`], sent: body }
    case 'both':
      return { announced: [`Content-Length: ${body.length}`, 'Transfer-Encoding: chunked'], sent: chunks }
    case 'bad chunk':
      return { announced: ['Transfer-Encoding: chunked'], sent: `zz\r\n${body}\r\n0\r\n\r\n` }
    case 'not a number':
      return { announced: ['Content-Length: 1e2'], sent: body }
  }
}

/**
 * Sends the bytes and resolves with the first whole answer, or when the server closes. A request that stops in the
 * middle is ended from this side, as by a client that died: only then does the server owe an end.
 */
export function exchange(url: string, bytes: string, { unfinished = false, limitMs = 30_000 } = {}): Promise<Exchange> {
  const bodiless = bytes.startsWith('HEAD ')
  const { port } = new URL(url)
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port: Number(port), host: 'localhost' })
    let received = ''
    const end = (settle: () => void) => {
      clearTimeout(limit)
      socket.destroy()
      settle()
    }
    const limit = setTimeout(() => end(() => reject(new Hung(`neither answered nor closed in ${limitMs} ms`))), limitMs)
    const done = (answer: WireAnswer | null) => end(() => resolve({ answer, ms: performance.now() - startedAt }))
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      received += chunk
      const answer = readAnswer(received, { bodiless, closed: false })
      if (answer) done(answer)
    })
    // A server that closes on somebody who is still sending is a reset, which may take the answer with it.
    socket.on('error', () => done(readAnswer(received, { bodiless, closed: true })))
    socket.on('close', () => done(readAnswer(received, { bodiless, closed: true })))
    if (unfinished) socket.end(bytes, 'latin1')
    else socket.write(bytes, 'latin1')
  })
}

/** The first final answer, or null while it is not whole. */
function readAnswer(received: string, at: { bodiless: boolean; closed: boolean }): WireAnswer | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const [first = '', ...lines] = received.slice(0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1])
  const rest = received.slice(headEnd + 4)
  if (status < 200) return readAnswer(rest, at)
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const body = at.closed ? rest : at.bodiless || status === 204 || status === 304 ? '' : wholeBody(rest, headers)
  return body === null ? null : { status, headers, body: unchunked(body, headers) }
}

function wholeBody(rest: string, headers: Record<string, string>): string | null {
  const length = headers['content-length']
  if (length !== undefined) return rest.length >= Number(length) ? rest.slice(0, Number(length)) : null
  if (headers['transfer-encoding']) return rest.endsWith('0\r\n\r\n') ? rest : null
  return null
}

function unchunked(body: string, headers: Record<string, string>): string {
  if (!headers['transfer-encoding']) return body
  let [text, at] = ['', 0]
  for (;;) {
    const lineEnd = body.indexOf('\r\n', at)
    const size = Number.parseInt(body.slice(at, lineEnd), 16)
    if (lineEnd < 0 || !size) return text
    text += body.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 2 + size + 2
  }
}
