// The examples of the guide are files, and tests run them: what a reader copies is what was run. They are read from the
// checkout, where every node runs.
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const EXAMPLES = [
  'first-order.sh',
  'until-final.sh',
  'refund.sh',
  'later.sh',
  'onceover-client.ts',
  'pay-for-purchase.ts',
] as const
export type Example = (typeof EXAMPLES)[number]

export const exampleText = (name: Example): string =>
  readFileSync(path.join(process.cwd(), 'app', 'docs', '_examples', name), 'utf8').trimEnd()
