// What a node holds on to, once everything that it could let go of is gone.
import path from 'node:path'
import { until } from '../../support/client'
import type { TestNode } from '../../support/node'

const PROBE = path.join(import.meta.dirname, 'heap-probe.mjs')
export const WITH_PROBE = { NODE_OPTIONS: `--import ${PROBE}` }

export interface Held {
  /** On the heap and beside it, in buffers. */
  bytes: number
  rss: number
}

const LINE = /^heap-probe (.*)$/gm

export async function heldBy(node: TestNode): Promise<Held> {
  const printed = () => [...node.output().matchAll(LINE)].map(([, json]) => json!)
  const before = printed().length
  process.kill(node.pid, 'SIGUSR2')
  const lines = await until(
    async () => printed(),
    (all) => all.length > before,
  )
  const { heapUsed, external, rss } = JSON.parse(lines.at(-1)!) as { heapUsed: number; external: number; rss: number }
  return { bytes: heapUsed + external, rss }
}
