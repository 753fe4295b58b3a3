// The Prisma client and the build in .next always belong to the sources beside them. Each carries a stamp, a hash over
// everything that went into it, written only after it was made: a killed or failed one is simply made again.
import { createHash } from 'node:crypto'
import { type Dirent, existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { removeScripts } from './public-pages'
import { run } from './run.mjs'

const CLIENT = path.join('lib', 'db', 'generated')
const CLIENT_SOURCES = [path.join('prisma', 'schema.prisma'), 'package-lock.json']
const CLIENT_STAMP = path.join(CLIENT, '.stamp')

const BUILD_SOURCES = [
  ...CLIENT_SOURCES,
  'app',
  'lib',
  'public',
  'instrumentation.ts',
  'proxy.ts',
  'scripts/public-pages.ts',
]
const BUILD_CONFIGURATION =
  /^(next|postcss|tailwind)\.config\.\w+$|^tsconfig(\.build)?\.json$|^\.env(\.production)?(\.local)?$/

export interface Task {
  root: string
  say: (line: string) => void
  signal?: AbortSignal
}

export async function ensureClient({ root, signal }: Task): Promise<void> {
  await ensure(root, CLIENT_STAMP, await hashOf(root, CLIENT_SOURCES), async () => {
    const prisma = path.join(root, 'node_modules', 'prisma', 'build', 'index.js')
    await run('prisma generate', process.execPath, [prisma, 'generate'], { cwd: root, signal })
  })
}

export async function ensureBuild(task: Task): Promise<void> {
  const { root, say, signal } = task
  await ensureClient(task)
  const configuration = (await readdir(root)).filter((name) => BUILD_CONFIGURATION.test(name))
  await ensure(
    root,
    path.join('.next', '.stamp'),
    await hashOf(root, [...BUILD_SOURCES, ...configuration]),
    async () => {
      const again = existsSync(path.join(root, '.next', 'BUILD_ID'))
      say(again ? 'Building (the sources have changed, about a minute)…' : 'Building (first start, about a minute)…')
      const next = path.join(root, 'node_modules', 'next', 'dist', 'bin', 'next')
      const env = { ...process.env, NODE_ENV: 'production' as const }
      await run('next build', process.execPath, [next, 'build'], { cwd: root, signal, env })
      await removeScripts(root)
    },
  )
}

async function ensure(root: string, stampName: string, hash: string, make: () => Promise<void>): Promise<void> {
  const stamp = path.join(root, stampName)
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return
  await rm(stamp, { force: true })
  await make()
  await mkdir(path.dirname(stamp), { recursive: true })
  await writeFile(stamp, hash)
}

/** One hash over names and contents of the files at these paths and below; what does not exist counts as such. */
export async function hashOf(root: string, sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const source of [...sources].sort())
    for (const file of await filesBelow(root, source)) {
      const content = createHash('sha256').update(await readFile(path.join(root, file)))
      hash.update(`${file}\0${content.digest('hex')}\n`)
    }
  return hash.digest('hex')
}

async function filesBelow(root: string, source: string): Promise<string[]> {
  if (source === CLIENT) return []
  const entries = await readdir(path.join(root, source), { withFileTypes: true }).catch(
    (error): Dirent[] | undefined => {
      if (error.code === 'ENOENT') return []
      if (error.code === 'ENOTDIR') return undefined
      throw error
    },
  )
  if (!entries) return [source]
  const below = entries.map((entry) => path.join(source, entry.name)).sort()
  return (await Promise.all(below.map((name) => filesBelow(root, name)))).flat()
}
