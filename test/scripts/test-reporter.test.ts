// The last line of a run, from small runs of Vitest in a folder of their own.
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '..', '..')
const PASSES = "it('passes', () => {})\n"

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-reporter-'))
  const test = { globals: true, reporters: [path.join(root, 'scripts', 'test-reporter.ts')] }
  await writeFile(path.join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify({ test })}`)
})
afterEach(() => rm(folder, { recursive: true }))

it.each([
  ['a test that passes', { 'a.test.mjs': PASSES }, '1 passed, 0 failed'],
  ['a test that fails', { 'a.test.mjs': `${PASSES}it('fails', () => expect(1).toBe(2))\n` }, '1 passed, 1 failed'],
  [
    'a hook of a describe that fails',
    { 'a.test.mjs': `${PASSES}describe('d', () => { beforeAll(() => { throw new Error('x') }); ${PASSES} })\n` },
    '1 passed, 1 failed',
  ],
  ['a file that does not load', { 'a.test.mjs': PASSES, 'b.test.mjs': 'import "./none"\n' }, '1 passed, 1 failed'],
  ['no test at all', {}, '0 passed, 1 failed'],
])('a run with %s ends with its counts', async (_, files, last) => {
  const { status, lines } = await run(files)
  expect(lines.at(-1)).toBe(last)
  expect(status === 0).toBe(last.endsWith(' 0 failed'))
})

it('a run names each skipped test with its reason before its counts', async () => {
  const { status, lines } = await run({ 'a.test.mjs': `${PASSES}it('asks a tool', ({ skip }) => skip('no tool'))\n` })
  expect(lines.at(-3)).toMatch(/^Skipped: .*a\.test\.mjs > asks a tool: no tool$/)
  expect(lines.at(-1)).toBe('1 passed, 0 failed')
  expect(status).toBe(0)
})

async function run(files: object) {
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content)
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const options = { cwd: folder, encoding: 'utf8', timeout: 60_000 } as const
  const { status, stdout } = spawnSync(process.execPath, [vitest, 'run', '--root', folder], options)
  return { status, lines: stdout.trimEnd().split('\n') }
}
