// Our ledger against the provider's own list for a window. What does not agree becomes a finding, once; what is still
// being worked on is left out; a charge that was taken for not executed is evidence and goes the way of all evidence.
// Only a comparison that came to its end moves the window on.
import type { Boundary } from '../idempotency/boundary'
import { applyEvidence } from '../idempotency/evidence'
import type { AnyOperation } from '../idempotency/operation'
import type { Batch, Counts, Daemon } from '../maintenance/daemon'
import { everythingCreated, type Gateway, type ProviderEntry } from '../payments/gateway'
import { isBooked, isBookedOtherwise } from './evidence'
import { compareBooked } from './ledger-comparison-booked'
import { type Finding, fileFindings } from './ledger-comparison-findings'
import { finding, isOurs, isUndecided, type Judgement, judgeEntries, type OurEntry } from './ledger-comparison-provider'
import { forgetRevisits, keepForRevisit, revisits } from './ledger-comparison-revisits'
import { SeenSet } from './ledger-comparison-seen'
import { coverUntil, nextWindow, type Window } from './ledger-comparison-window'

/** Entries that are judged by one statement. */
const BATCH = 500

export interface LedgerComparison {
  boundary: Boundary
  operations: ReadonlyMap<string, AnyOperation>
  gateway: Gateway
}

export function ledgerComparison(comparison: LedgerComparison): Daemon {
  const { boundary, gateway } = comparison
  const { store } = boundary
  return {
    kind: 'ledger',
    async *batches({ dryRun }) {
      const window = await nextWindow(store, boundary)
      if (window.from >= window.to) return
      const listed = new SeenSet()
      yield* compareRevisited(comparison, listed, dryRun)
      yield* compareListed(comparison, window, listed, dryRun)
      for await (const page of compareBooked(store, gateway, window, listed)) {
        const filed = await fileFindings(store, page.findings, dryRun)
        yield counting(filed, { booked: page.compared, unconfirmed: page.unconfirmed })
      }
      if (!dryRun) await coverUntil(store, window.to)
    },
  }
}

async function* compareListed(
  comparison: LedgerComparison,
  window: Window,
  listed: SeenSet,
  dryRun: boolean,
): AsyncIterable<Batch> {
  const { store } = comparison.boundary
  const keys = new SeenSet()
  const keysSeenTwice = new Set<string>()
  const unexplained: OurEntry[] = []

  for await (const entries of inBatches(comparison.gateway, window)) {
    // A list that is read page by page may show an entry twice.
    const ours = entries.filter(isOurs).filter(({ ref }) => listed.add(ref))
    for (const entry of ours) if (!keys.add(keyOf(entry))) keysSeenTwice.add(keyOf(entry))
    const inWindow = ours.filter(({ createdAt }) => createdAt >= window.from && createdAt < window.to)
    const judged = await judge(comparison, inWindow, dryRun)
    unexplained.push(...judged.unexplained)
    if (!dryRun) await keepForRevisit(store, [...judged.leftOut, ...entries.filter(isUndecided)])
    yield counting(judged.batch, { listed: inWindow.length })
  }

  // Known only when all have been seen: which of the unexplained have another one beside them.
  const doubled = unexplained.filter((entry) => keysSeenTwice.has(keyOf(entry)))
  for (let i = 0; i < doubled.length; i += BATCH) {
    const findings = doubled.slice(i, i + BATCH).map((entry) => finding('duplicate_charge', entry))
    yield await fileFindings(store, findings, dryRun)
  }
}

/** What earlier comparisons left out. */
async function* compareRevisited(comparison: LedgerComparison, listed: SeenSet, dryRun: boolean): AsyncIterable<Batch> {
  const { gateway, boundary } = comparison
  for await (const { entries, over } of revisits(boundary.store, gateway)) {
    for (const { ref } of entries) listed.add(ref)
    const { batch, leftOut } = await judge(comparison, entries, dryRun)
    const still = new Set(leftOut.map(({ ref }) => ref))
    const done = entries.filter(({ ref }) => !still.has(ref)).map(({ ref }) => ref)
    if (!dryRun) await forgetRevisits(boundary.store, [...over, ...done])
    if (entries.length > 0) yield counting(batch, { revisited: entries.length })
  }
}

async function judge(
  comparison: LedgerComparison,
  entries: readonly OurEntry[],
  dryRun: boolean,
): Promise<{ batch: Batch; unexplained: OurEntry[]; leftOut: OurEntry[] }> {
  const { store } = comparison.boundary
  const counts: Counts = {}
  const findings: Finding[] = []
  const settled: string[] = []
  const unexplained: OurEntry[] = []
  const leftOut: OurEntry[] = []
  for (const { entry, judgement } of await judgeEntries(store, entries)) {
    if (judgement.kind === 'left_out') {
      counts.leftOut = (counts.leftOut ?? 0) + 1
      leftOut.push(entry)
    }
    if (judgement.kind === 'evidence') {
      counts.evidence = (counts.evidence ?? 0) + 1
      settled.push(judgement.recordId)
      if (!dryRun) await testify(comparison, entry, judgement)
    }
    if (judgement.kind !== 'found') continue
    findings.push(...judgement.findings)
    if (judgement.unexplained) unexplained.push(entry)
  }
  const filed = await fileFindings(store, findings, dryRun)
  return { batch: counting({ ...filed, ids: [...filed.ids, ...settled] }, counts), unexplained, leftOut }
}

const keyOf = ({ kind, providerKey }: OurEntry): string => `${kind} ${providerKey}`

async function* inBatches(gateway: Gateway, window: Window): AsyncIterable<ProviderEntry[]> {
  let batch: ProviderEntry[] = []
  for await (const entry of everythingCreated(gateway, window.listed)) {
    batch.push(entry)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  yield batch
}

/** The same words as a look-up's: brought by either, it counts once. */
async function testify(
  { boundary, operations }: LedgerComparison,
  { ref, kind: effect, amountCents, currency, orderId }: OurEntry,
  { recordId }: Extract<Judgement, { kind: 'evidence' }>,
): Promise<void> {
  await applyEvidence(boundary, operations, {
    recordId,
    source: 'look_up',
    sourceId: `${recordId}:${ref}`,
    attempt: null,
    executed: { kind: 'succeeded', ref, shown: { effect, amountCents, currency, orderId } },
    booked: isBooked(ref),
    bookedOtherwise: isBookedOtherwise({ providerRef: ref, effect, amountCents, currency }),
  })
}

function counting(batch: Batch, more: Counts): Batch {
  return { ...batch, counts: { ...batch.counts, ...more } }
}
