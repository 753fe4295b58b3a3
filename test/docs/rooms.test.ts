// Who may import whom is a table in docs/architecture.md, and the lint rules hold exactly that: each room is given a file
// that imports every other room and package, and what Biome refuses there is what the table does not allow.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { foldersOf, quotedIn, ROOT, read, tableOf } from './pages'

const PACKAGES = ['next', 'pg', '@prisma/client', 'graphile-worker', 'stripe', 'better-auth', 'prom-client']
const ROOMS = foldersOf('lib')
/** What may be used by all, or by a few: files beside the rooms. */
const BESIDE = ['log', 'process-wide', 'request-context', 'secret', 'wall-clock']
const ROWS = tableOf(read('docs/architecture.md'), ['room', 'holds', 'may import', 'packages']).map(
  ([room, , may, packages]) => ({
    room: quotedIn(room!)[0]!,
    may: quotedIn(may!),
    packages: quotedIn(packages!),
  }),
)

interface Probe {
  /** Where the file lies that imports. */
  at: string
  /** What it imports, by the name that the table has for it. */
  imports: { name: string; from: string }[]
}

let folder: string
let refused: Map<string, string[]>
const probes: Probe[] = ROWS.flatMap(({ room }) => {
  const nested = room === 'lib/idempotency' ? [`${room}/sql`] : room === 'lib/http' ? [`${room}/operator`] : []
  return [room, ...nested].map((at) => ({ at, imports: importsFrom(at, room) }))
})
const besideProbe: Probe = { at: 'lib', imports: importsFrom('lib', 'none') }

function importsFrom(at: string, room: string): Probe['imports'] {
  const to = (target: string) => {
    const relative = path.relative(at, target)
    return relative.startsWith('.') ? relative : `./${relative}`
  }
  return [
    ...ROOMS.filter((name) => `lib/${name}` !== room).map((name) => ({ name, from: to(`lib/${name}/thing`) })),
    ...PACKAGES.map((name) => ({ name, from: name })),
    { name: 'sql-template-tag', from: 'sql-template-tag' },
    { name: 'next', from: 'next/headers' },
    { name: '@prisma/client', from: to('lib/db/generated/client') },
    { name: 'config', from: to('lib/config') },
    ...BESIDE.map((name) => ({ name, from: to(`lib/${name}`) })),
    ...['app', 'scripts', 'test']
      .filter((name) => name !== room)
      .map((name) => ({ name, from: to(`${name}/thing/other`) })),
  ]
}

beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'onceover-rooms-'))
  cpSync(path.join(ROOT, 'biome.json'), path.join(folder, 'biome.json'))
  const all = [...probes, besideProbe]
  for (const { at, imports } of all) {
    mkdirSync(path.join(folder, at), { recursive: true })
    writeFileSync(path.join(folder, at, 'probe.ts'), imports.map(({ from }) => `import '${from}'\n`).join(''))
  }
  writeFileSync(
    path.join(folder, 'lib/idempotency/ways.ts'),
    [
      `import type { A } from '../orders/a'`,
      `export { b } from '../orders/b'`,
      `export const c = () => import('../orders/c')`,
      `export type D = A`,
    ].join('\n'),
  )
  refused = lint()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** By file, the lines on which an import was refused. */
function lint(): Map<string, string[]> {
  const biome = path.join(ROOT, 'node_modules/@biomejs/biome/bin/biome')
  const args = ['lint', '--vcs-enabled=false', '--only=style/noRestrictedImports', '--max-diagnostics=none']
  let told: string
  try {
    told = execFileSync(process.execPath, [biome, ...args, '--reporter=json', '.'], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch (error) {
    // It ends with 1 because it has found something, which is what is wanted here.
    told = (error as { stdout: string }).stdout
  }
  const { diagnostics } = JSON.parse(told) as {
    diagnostics: { location: { path: string; start: { line: number } } }[]
  }
  const found = new Map<string, string[]>()
  for (const { location } of diagnostics)
    found.set(location.path, [...(found.get(location.path) ?? []), String(location.start.line)])
  return found
}

const refusedAt = ({ at, imports }: Probe): string[] =>
  (refused.get(`${at}/probe.ts`) ?? []).map((line) => imports[Number(line) - 1]!.from)

describe('the import table of docs/architecture.md', () => {
  it('has a row for every room of lib, and for app', () => {
    expect(ROWS.map(({ room }) => room).toSorted()).toEqual([...ROOMS.map((name) => `lib/${name}`), 'app'].toSorted())
  })

  it('names only rooms and packages that exist', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    for (const { may, packages } of ROWS) {
      expect([...ROOMS, 'config']).toEqual(expect.arrayContaining(may))
      expect(Object.keys(dependencies)).toEqual(expect.arrayContaining(packages))
    }
  })
})

describe('Biome refuses exactly the imports that docs/architecture.md does not allow', () => {
  it.each(probes)('in $at', (probe) => {
    const { may, packages } = ROWS.find(({ room }) => probe.at === room || probe.at.startsWith(`${room}/`))!
    const allowed = [...may, ...packages, ...BESIDE]
    const wanted = probe.imports.filter(({ name }) => !allowed.includes(name)).map(({ from }) => from)
    expect(refusedAt(probe).toSorted()).toEqual(wanted.toSorted())
  })

  it('directly in lib, where no room may be imported', () => {
    const own = [...BESIDE, 'config']
    const wanted = besideProbe.imports.filter(({ name }) => !own.includes(name)).map(({ from }) => from)
    expect(refusedAt(besideProbe).toSorted()).toEqual(wanted.toSorted())
  })

  it('as type imports, re-exports and dynamic imports, too', () => {
    expect(refused.get('lib/idempotency/ways.ts')?.toSorted()).toEqual(['1', '2', '3'])
  })
})
