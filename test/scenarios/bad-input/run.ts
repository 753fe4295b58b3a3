// `npm run fuzz -- --minutes N`: the same test as in `npm test`, for as long as wanted.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

const root = path.resolve(import.meta.dirname, '..', '..', '..')
const { minutes } = parseArgs({ options: { minutes: { type: 'string', default: '10' } } }).values
if (!(Number(minutes) > 0)) throw new Error(`--minutes must be a number above 0, not ${minutes}`)

const test = [path.join(root, 'scripts', 'test.mjs'), '--project', 'proof', 'test/scenarios/bad-input.test.ts']
const env = { ...process.env, FUZZ_MINUTES: minutes }
spawn(process.execPath, test, { cwd: root, env, stdio: 'inherit' }).once('exit', (code) => {
  process.exitCode = code ?? 1
})
