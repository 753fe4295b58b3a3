// A request and its answer as wire text, from the document's examples.

import { STATUS_CODES } from 'node:http'
import type { oas31 } from 'zod-openapi'
import { pretty } from '../_parts/wire'
import { type Answer, exampleOfContent, follow, type Operation, type Parameter, type Schema } from './document'

const AUTHORIZATION: Record<string, string> = {
  apiKey: 'Authorization: Bearer $ONCEOVER_API_KEY',
  operatorToken: 'Authorization: Bearer $ADMIN_TOKEN',
}

/** What is worth a line in an example; the rest is in the table of answers. */
const SHOWN_HEADERS = ['Location', 'Idempotency-Key', 'Idempotency-Expires', 'Retry-After']

export function requestText({ method, path, parameters, scheme, body }: Operation): string {
  const lines = [`${method} ${addressOf(path, parameters)} HTTP/1.1`]
  if (scheme && AUTHORIZATION[scheme]) lines.push(AUTHORIZATION[scheme])
  for (const parameter of parameters)
    if (parameter.in === 'header' && parameter.required) lines.push(`${parameter.name}: ${exampleOf(parameter)}`)
  if (!body) return lines.join('\n')
  return [...lines, 'Content-Type: application/json', '', pretty(exampleOfContent(body))].join('\n')
}

export function answerText(status: number, answer: Answer): string | null {
  const body = answer.content?.['application/json']
  return body ? wireText(status, headerLines(answer), exampleOfContent(body)) : null
}

export function wireText(status: number, headers: string[], body: unknown): string {
  return [`HTTP/1.1 ${statusLine(status)}`, ...headers, '', pretty(body)].join('\n')
}

export const statusLine = (status: number): string => `${status} ${STATUS_CODES[status] ?? ''}`.trim()

function headerLines(answer: Answer): string[] {
  const all = answer.headers ?? {}
  return SHOWN_HEADERS.filter((name) => all[name]).map(
    (name) => `${name}: ${follow<oas31.HeaderObject>(all[name]!).example}`,
  )
}

function addressOf(path: string, parameters: Parameter[]): string {
  const filled = parameters
    .filter(({ in: place }) => place === 'path')
    .reduce((address, parameter) => address.replace(`{${parameter.name}}`, String(exampleOf(parameter))), path)
  const query = parameters.filter(({ in: place, required }) => place === 'query' && required)
  return query.length
    ? `${filled}?${query.map((parameter) => `${parameter.name}=${exampleOf(parameter)}`).join('&')}`
    : filled
}

function exampleOf(parameter: Parameter): unknown {
  const [named] = Object.values(parameter.examples ?? {})
  const schema = parameter.schema ? follow<Schema>(parameter.schema) : {}
  return named ? follow<oas31.ExampleObject>(named).value : (parameter.example ?? schema.example ?? schema.enum?.[0])
}
