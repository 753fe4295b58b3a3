// A build belongs to its sources: any change to them shows in their hash, and nothing else does.
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { hashOf } from '../../scripts/build'

let root: string
const write = async (name: string, content: string) => {
  await mkdir(path.dirname(path.join(root, name)), { recursive: true })
  await writeFile(path.join(root, name), content)
}
const hash = () => hashOf(root, ['app', 'lib', 'proxy.ts'])

beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'onceover-build-'))
  await write('app/page.tsx', 'a')
  await write('lib/deep/er/file.ts', 'b')
})
afterEach(() => rm(root, { recursive: true, force: true }))

it('the hash of the build’s sources stays the same while the sources do', async () => {
  expect(await hash()).toBe(await hash())
})

it.each([
  ['a changed file', () => write('lib/deep/er/file.ts', 'c')],
  ['a new file', () => write('lib/deep/new.ts', '')],
  ['a removed file', () => rm(path.join(root, 'app/page.tsx'))],
  ['a moved file', () => rename(path.join(root, 'app/page.tsx'), path.join(root, 'app/layout.tsx'))],
  ['a new top-level source', () => write('proxy.ts', '')],
])('the hash of the build’s sources changes with %s', async (_, change) => {
  const before = await hash()
  await change()
  expect(await hash()).not.toBe(before)
})

it.each([
  ['the generated client', 'lib/db/generated/client.ts'],
  ['a file that is not a source', 'test/a.test.ts'],
])('the hash of the build’s sources ignores %s', async (_, name) => {
  const before = await hash()
  await write(name, 'x')
  expect(await hash()).toBe(before)
})
