// What `npm run check` refuses, tried in a copy of the tree that has one thing wrong with it at a time.
import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Checkout } from '../support/checkout'

let checkout: Checkout
beforeAll(async () => {
  checkout = await Checkout.copyBuilt()
  // Biome takes what is to be left out from Git.
  await promisify(execFile)('git', ['init', '--quiet'], { cwd: checkout.folder })
})
afterAll(() => checkout?.remove())

/** The output of a check that fails on these additions or changes, which are undone; one that passes fails the test. */
async function refusalOf(changes: Record<string, string | ((content: string) => string)>): Promise<string> {
  const before = new Map<string, string>()
  for (const name of Object.keys(changes)) before.set(name, await readFile(checkout.path(name), 'utf8'))
  try {
    for (const [name, content] of before) {
      const change = changes[name]!
      await writeFile(checkout.path(name), typeof change === 'string' ? content + change : change(content))
    }
    const { PATH = '', HOME = '' } = process.env
    const env = { PATH, HOME } as unknown as NodeJS.ProcessEnv
    const check = promisify(execFile)('npm', ['run', 'check'], { cwd: checkout.folder, env, maxBuffer: 64 << 20 })
    const failed = await check.then(
      ({ stdout }) => {
        throw new Error(`npm run check passed:\n${stdout}`)
      },
      ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
    )
    expect(failed.code).not.toBe(0)
    return failed.output
  } finally {
    for (const [name, content] of before) await writeFile(checkout.path(name), content)
  }
}

it('npm run check refuses a lint error', async () => {
  expect(await refusalOf({ 'lib/secret.ts': '\ndebugger\n' })).toMatch(/lib\/secret\.ts[\s\S]*noDebugger/)
})

it('npm run check refuses a file that is not formatted', async () => {
  expect(await refusalOf({ 'lib/secret.ts': 'export const wrong  =  1;\n' })).toContain('lib/secret.ts format')
})

it('npm run check refuses a forbidden import between folders', async () => {
  const refusal = await refusalOf({ 'lib/idempotency/decide.ts': "\nexport * from '../orders/place-order'\n" })
  expect(refusal).toMatch(/lib\/idempotency\/decide\.ts[\s\S]*noRestrictedImports/)
})

it('npm run check refuses an export that nothing imports', async () => {
  const refusal = await refusalOf({ 'lib/secret.ts': '\nexport const wrong = 1\n' })
  expect(refusal).toContain('Unused exports')
  expect(refusal).toMatch(/wrong +lib\/secret\.ts/)
})

it('npm run check refuses a type error in lib, app, scripts and test', async () => {
  const files = ['lib/secret.ts', 'app/_ui/document.tsx', 'scripts/port.ts', 'test/wall-clock.test.ts']
  const wrong = "\nconst wrong: number = 'one'\nvoid wrong\n"
  const refusal = await refusalOf(Object.fromEntries(files.map((file) => [file, wrong])))
  for (const file of files) expect(refusal).toMatch(new RegExp(`${file}\\(\\d+,7\\): error TS2322`))
})

it('npm run check refuses a dependency that nothing uses', async () => {
  const withOneMore = (manifest: string) =>
    manifest.replace('"dependencies": {', '"dependencies": {\n    "is-number": "7.0.0",')
  expect(await refusalOf({ 'package.json': withOneMore })).toMatch(/Unused dependencies[\s\S]*is-number/)
})

it('npm run check refuses a failing test that needs no database', async () => {
  const wrong = "\nit('fails', () => expect(1).toBe(2))\n"
  expect(await refusalOf({ 'test/db/id.test.ts': wrong })).toMatch(/[1-9]\d* passed, 1 failed/)
})
