// `npm run proof:crash`: the crash matrix alone. With `-- --write` its table is written into docs/crash-matrix.md, one
// provider after the other, since both write the same file.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const test = path.join(import.meta.dirname, 'test.mjs')
const args = [test, '--project', 'proof', '--reporter', 'verbose', 'test/scenarios/crash/']
const written = values.write ? { CRASH_MATRIX: 'write' } : {}
if (values.write) args.push('--no-file-parallelism')
const child = spawn(process.execPath, args, { env: { ...process.env, ...written }, stdio: 'inherit' })
child.once('exit', (code) => {
  process.exitCode = code ?? 1
})
