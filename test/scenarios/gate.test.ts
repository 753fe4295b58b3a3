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

/** The output of a check that fails on these additions, which are taken back; one that passes fails the test. */
async function refusalOf(additions: Record<string, string>): Promise<string> {
  const before = new Map<string, string>()
  for (const [name, addition] of Object.entries(additions)) {
    const content = await readFile(checkout.path(name), 'utf8')
    before.set(name, content)
    await writeFile(checkout.path(name), `${content}${addition}`)
  }
  try {
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
  const files = ['lib/secret.ts', 'app/layout.tsx', 'scripts/port.ts', 'test/wall-clock.test.ts']
  const wrong = "\nconst wrong: number = 'one'\nvoid wrong\n"
  const refusal = await refusalOf(Object.fromEntries(files.map((file) => [file, wrong])))
  for (const file of files) expect(refusal).toMatch(new RegExp(`${file}\\(\\d+,7\\): error TS2322`))
})
