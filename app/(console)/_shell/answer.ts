// What a use case said to a page or an action, as plain data. A refusal and a store that can't be asked are answers like
// any other: the page shows them in their place, and whatever was typed or chosen stays. Bugs are thrown.
import type { z } from 'zod'
import { isUnavailable } from '../../../lib/db/sqlstate'
import type { OperatorCall } from '../../../lib/http/operator-call'
import { PROBLEMS } from '../../../lib/http/problem'
import { isRefused, type RefusalCode, type Refused } from '../../../lib/operators/refusal'
import { requireSession, type Session } from './session'

interface NotDone {
  ok: false
  code: RefusalCode | 'unavailable'
  message: string
  /** By field, where the fields are at fault. */
  issues?: Record<string, string>
}

export type Answer<T> = { ok: true; value: T } | NotDone

export async function answer<T>(ask: (session: Session) => Promise<T | Refused>): Promise<Answer<T>> {
  try {
    const result = await ask(await requireSession())
    if (!isRefused(result)) return { ok: true, value: result }
    const issues = result.issues && { issues: messagesOf(result.issues) }
    return { ok: false, code: result.refused, message: result.detail ?? PROBLEMS[result.refused].detail, ...issues }
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return { ok: false, code: 'unavailable', message: 'The database can’t be reached.' }
  }
}

/** What a browser sent is checked like any input before anybody is asked. */
export async function answerTo<Schema extends z.ZodType, T>(
  schema: Schema,
  sent: unknown,
  ask: (session: Session, input: z.infer<Schema>) => Promise<T | Refused>,
): Promise<Answer<T>> {
  const parsed = schema.safeParse(sent)
  return parsed.success ? answer((session) => ask(session, parsed.data)) : invalid(parsed.error)
}

/** A call of the operator API without HTTP: the same checks, the same use case. */
export async function perform<Query extends z.ZodType, Body extends z.ZodType, Input, Output>(
  asked: OperatorCall<Query, Body, Input, Output>,
  sent: { params?: Record<string, string>; query?: unknown; body?: unknown },
): Promise<Answer<Output>> {
  const params = sent.params ?? {}
  for (const [name, pattern] of Object.entries(asked.params ?? {}))
    if (!pattern.test(String(params[name]))) return { ok: false, code: 'not_found', message: PROBLEMS.not_found.detail }
  const body = asked.body?.safeParse(sent.body)
  const query = asked.query?.safeParse(sent.query ?? {})
  for (const parsed of [body, query]) if (parsed?.error) return invalid(parsed.error)
  return answer(({ call, services }) =>
    asked.does(services)(
      call,
      asked.input({ params, body: body?.data as z.infer<Body>, query: query?.data as z.infer<Query> }),
    ),
  )
}

function invalid(error: z.ZodError): NotDone {
  const issues = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  return { ok: false, code: 'invalid_request', message: 'Something in it is not valid.', issues: messagesOf(issues) }
}

const messagesOf = (issues: readonly { path: string; message: string }[]): Record<string, string> =>
  Object.fromEntries(issues.map(({ path, message }) => [path, `${message}.`]))
