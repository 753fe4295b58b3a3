// .ci/run with an `npm` that only writes down how it was called.
import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'

const CI_RUN = path.resolve(import.meta.dirname, '..', '..', '.ci', 'run')
const TIMES = /^ +\d+ min \d\d s {2}npm .*$/gm
const ALL = ['run check', 'test', 'run proof']

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'onceover-ci-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Runs it with an npm that fails at `failing`. */
async function ciRun(failing?: string) {
  const npm = path.join(folder, 'npm')
  await writeFile(npm, `#!/bin/sh\necho "$*" >> '${folder}/calls'\n[ "$*" != '${failing}' ]\n`)
  await chmod(npm, 0o755)
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  const { status, stdout } = spawnSync('bash', [CI_RUN], { env, encoding: 'utf8' })
  const calls = (await readFile(path.join(folder, 'calls'), 'utf8')).trim().split('\n')
  return { status, stdout, calls }
}

it('.ci/run runs check, test and proof, and prints how long each took', async () => {
  const { status, stdout, calls } = await ciRun()
  expect(calls).toEqual(ALL)
  expect(status).toBe(0)
  expect(stdout.match(TIMES)).toHaveLength(ALL.length)
})

it.each(ALL.map((failing, i) => [failing, ALL.slice(0, i + 1)] as const))(
  '.ci/run fails and stops when npm %s fails',
  async (failing, expected) => {
    const { status, stdout, calls } = await ciRun(failing)
    expect(status).not.toBe(0)
    expect(calls).toEqual(expected)
    expect(stdout.match(TIMES)).toHaveLength(expected.length)
  },
)
