// `npm run proof:random -- --runs N --seed S --path P --minutes M --provider honours|ignores`: the random programs of the
// tests, as many and as long as wanted. The same code, set up the same way.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

const text = { type: 'string' }
const { values } = parseArgs({
  options: { runs: text, minutes: text, seed: text, path: text, provider: text },
})
const told = Object.entries(values).map(([name, value]) => [`PROOF_${name.toUpperCase()}`, value])
const test = path.join(import.meta.dirname, 'test.mjs')
const args = [test, '--project', 'proof', '--reporter', 'verbose', 'test/scenarios/random-programs.test.ts']
const child = spawn(process.execPath, args, { env: { ...process.env, ...Object.fromEntries(told) }, stdio: 'inherit' })
child.once('exit', (code) => {
  process.exitCode = code ?? 1
})
