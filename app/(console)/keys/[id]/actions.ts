'use server'
// What a person can do to one key: each is one use case, told back as data. What the page was rendered from may be old;
// the use cases decide by what is stored.
import { z } from 'zod'
import { storyOf } from '../../../../lib/console/key-story'
import type { OperatorRecord } from '../../../../lib/console/record-view'
import { isId } from '../../../../lib/db/id'
import { AcceptedMoney, reasonOf } from '../../../../lib/http/operator/key-actions'
import { PROBLEMS } from '../../../../lib/http/problem'
import type { Input } from '../../../../lib/idempotency/operation'
import { isRefused, type Refused } from '../../../../lib/operators/refusal'
import type { ReconciledKey } from '../../../../lib/reconciliation/reconcile-key'
import { RESOLUTIONS } from '../../../../lib/reconciliation/resolve'
import type { ResolutionPreview } from '../../../../lib/reconciliation/resolve-preview'
import type { LedgerEntryView } from '../../../../lib/reconciliation/reverse'
import { withRequestId } from '../../../../lib/request-context'
import { type Answer, answerTo } from '../../_shell/answer'
import type { Session } from '../../_shell/session'
import { type MomentWords, wordsOf } from './_words/moment'
import { deedOf } from './_words/verdict'
import { type WireText, wireOf } from './_words/wire'

const Id = z.string().refine((text) => isId('idem', text))
const Ref = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{0,255}$/, 'must be at most 255 visible ASCII characters without spaces')
  .transform((ref) => ref || undefined)
const Verdict = z.enum(RESOLUTIONS)
const Version = z.int().min(0)

/** What happens in it is known by the request that it came with, in the timeline as in the audit log. */
const acting = <T>({ call }: Session, act: () => Promise<T>): Promise<T> => withRequestId(call.requestId, act)

export async function askProvider(id: string): Promise<Answer<ReconciledKey & { at: string }>> {
  return answerTo(Id, id, (session, record) =>
    acting(session, async () => {
      const asked = await session.services.reconcileKey(session.call, { id: record })
      return isRefused(asked) ? asked : { ...asked, at: new Date().toISOString() }
    }),
  )
}

export interface Preview extends Omit<ResolutionPreview, 'replay' | 'refusal'> {
  replay: WireText | null
  /** Why it would be refused now, as a sentence. */
  refusal: string | null
}

export async function previewResolution(asked: {
  id: string
  verdict: string
  providerRef: string
}): Promise<Answer<Preview>> {
  return answerTo(
    z.object({ id: Id, verdict: Verdict, providerRef: Ref }),
    asked,
    async ({ call, services }, resolution) => {
      const seen = await services.previewResolution(call, resolution)
      if (isRefused(seen)) return seen
      const { replay, refusal, ...rest } = seen
      return { ...rest, replay: replay && wireOf(replay), refusal: refusal && refusalWords(refusal) }
    },
  )
}

const refusalWords = ({ refused, detail, issues }: Refused): string =>
  issues ? issues.map(({ path, message }) => `${path} ${message}.`).join(' ') : (detail ?? PROBLEMS[refused].detail)

/** What became of the key since it was loaded. */
export interface WhatChanged {
  record: OperatorRecord
  happened: { at: string; words: MomentWords }[]
}

export type Decided = Answer<OperatorRecord> & { changed?: WhatChanged }

const Decision = z.object({
  id: Id,
  reason: reasonOf(10),
  version: Version,
  /** The last thing that the page knew of. */
  seenUntil: z.iso.datetime(),
})

export async function resolveKey(
  asked: z.input<typeof Decision> & { verdict: string; providerRef: string; accept?: z.input<typeof AcceptedMoney> },
): Promise<Decided> {
  return deciding(
    Decision.extend({ verdict: Verdict, providerRef: Ref, accept: AcceptedMoney.optional() }),
    asked,
    (session, decision) => session.services.resolveKey(session.call, decision),
  )
}

export async function expireKey(asked: z.input<typeof Decision>): Promise<Decided> {
  return deciding(Decision.extend({ reason: reasonOf(1) }), asked, (session, decision) =>
    session.services.expireKey(session.call, decision),
  )
}

export async function runKeyAgain(asked: z.input<typeof Decision>): Promise<Decided> {
  return deciding(Decision.extend({ reason: reasonOf(1) }), asked, (session, decision) =>
    session.services.runKeyAgain(session.call, decision),
  )
}

export async function resumeKey(asked: z.input<typeof Decision>): Promise<Decided> {
  return deciding(Decision.extend({ reason: reasonOf(1) }), asked, (session, decision) =>
    session.services.resumeKey(session.call, decision),
  )
}

const Reversing = z.object({ id: z.string().refine((text) => isId('pay', text)), reason: reasonOf(1) })

export async function reverseBooking(asked: z.input<typeof Reversing>): Promise<Answer<LedgerEntryView>> {
  return answerTo(Reversing, asked, (session, reversing) =>
    acting(session, () => session.services.reverseEntry(session.call, reversing)),
  )
}

/** Somebody who decided by what is not so any more is told what changed. */
async function deciding<Schema extends typeof Decision>(
  schema: Schema,
  asked: unknown,
  decide: (session: Session, decision: z.infer<Schema>) => Promise<OperatorRecord | Refused>,
): Promise<Decided> {
  let changed: WhatChanged | undefined
  const decided = await answerTo(schema, asked, (session, decision) =>
    acting(session, async () => {
      const record = await decide(session, decision)
      if (isRefused(record) && record.refused === 'changed_since_loaded')
        changed = await whatChanged(session, decision.id, decision.seenUntil)
      return record
    }),
  )
  return changed ? { ...decided, changed } : decided
}

const MOST_ACTS = 200

async function whatChanged(
  { call, services }: Session,
  id: string,
  seenUntil: string,
): Promise<WhatChanged | undefined> {
  const detail = await services.showKey(call, { id })
  const acts = await services.listAudit(call, { target: id, limit: MOST_ACTS, after: null })
  if (isRefused(detail) || isRefused(acts)) return undefined
  const { noun, done } = deedOf(detail)
  const about = { noun, done, async: detail.record.async }
  const news = storyOf(detail, acts.items).filter(({ until }) => Date.parse(until) > Date.parse(seenUntil))
  return {
    record: detail.record,
    happened: news.map((moment) => ({ at: moment.until, words: wordsOf(moment, about) })),
  }
}

export async function unmaskKey(asked: { id: string; reason: string }): Promise<Answer<{ request: Input }>> {
  return answerTo(z.object({ id: Id, reason: reasonOf(1) }), asked, ({ call, services }, unmask) =>
    services.unmaskKey(call, unmask),
  )
}
