// The formal model and the code are two texts about one protocol. What can be compared without walking the model's
// states is compared here: a state, a move, a rule or a function that only one of them has fails a test.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { FLOW_NAMES, FLOWS } from '../../lib/idempotency/flows'
import { MOVES, STATES } from '../../lib/idempotency/states'
import { ROWS } from '../../scripts/model-rows'

const ROOT = path.resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')
const model = read('docs/model/once.pml')
const readme = read('docs/model/README.md')

/** The model's word for "there is no record". */
const NONE = 'none'

const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!)
const unique = (words: readonly string[]) => [...new Set(words)].toSorted()
const arrow = (from: string, to: string) => `${from} → ${to}`

/** `#define PENDING 1` and so on, from the comment that opens the list to the one that opens the next. */
function modelStates(): string[] {
  const [, list = ''] = /\/\* states of the record:.*?\*\/\n(.*?)\/\*/s.exec(model) ?? []
  return all(list, /^#define (\w+) \d+$/gm).map((name) => name.toLowerCase())
}

/** `(f==A && (t==B || t==C))` is two moves. Whatever LEGAL says in another way is not understood, and fails. */
function modelMoves(): string[] {
  const [, legal = ''] = /#define LEGAL\(f,t\) \((.*?)\)\n\n/s.exec(model) ?? []
  const lines = legal.replaceAll('\\\n', '').split(/\|\| (?=\(f==)/)
  return lines.flatMap((line) => {
    const [, from, targets] = /^\s*\(f==(\w+) && \(((?:t==\w+(?: \|\| )?)+)\)\)\s*$/.exec(line) ?? []
    if (!from || !targets) throw new Error(`not understood: ${line}`)
    return all(targets, /t==(\w+)/g).map((to) => arrow(from.toLowerCase(), to.toLowerCase()))
  })
}

const modelRules = unique(all(model, /^#ifndef (R_\w+)$/gm))

interface TableRow {
  rule: string
  keptBy: { file: string; name: string }[]
}

const table: TableRow[] = [...readme.matchAll(/^\| `(R_\w+)` \|[^|]*\|([^|]*)\|/gm)].map(([, rule, keptBy]) => ({
  rule: rule!,
  keptBy: [...keptBy!.matchAll(/`([\w/.-]+)` `(\w+)`/g)].map(([, file, name]) => ({ file: file!, name: name! })),
}))

describe('the formal model', () => {
  it('has the states of the code, and one for “no record”', () => {
    expect(modelStates().toSorted()).toEqual([NONE, ...STATES].toSorted())
  })

  it('has the moves of the code, each once, including creation and deletion', () => {
    const flows = FLOW_NAMES.map((flow) => arrow(FLOWS[flow].from ?? NONE, FLOWS[flow].to ?? NONE))
    expect(modelMoves().toSorted()).toEqual(flows.toSorted())
    const between = modelMoves().filter((move) => !move.includes(NONE))
    expect(between.toSorted()).toEqual(STATES.flatMap((from) => MOVES[from].map((to) => arrow(from, to))).toSorted())
  })

  it('moves into every state somewhere', () => {
    const made = unique(all(model, /\b(?:move|free_|complete)\((\w*)\)/g))
    const targets = made.filter((to) => to !== 'to').map((to) => (to === '' ? 'FAILED_RETRYABLE' : to))
    const states = modelStates().map((state) => state.toUpperCase())
    expect(states.filter((state) => !targets.includes(state))).toEqual([])
  })

  it('has every rule switched on by default', () => {
    for (const rule of modelRules) expect(model).toMatch(new RegExp(`^#define ${rule} 1 `, 'm'))
  })
})

describe('every rule of the formal model', () => {
  it('is in the README’s table, which has no other rules', () => {
    expect(modelRules.length).toBeGreaterThan(0)
    expect(table.map(({ rule }) => rule).toSorted()).toEqual(modelRules)
  })

  it('is switched off in a check of its own, which expects a property to fail', () => {
    const off = ROWS.filter(({ without }) => without !== undefined)
    expect(unique(off.map(({ without }) => without!))).toEqual(modelRules)
    expect(off.filter(({ wanted, full }) => wanted !== 'fails' || full)).toEqual([])
  })

  it.each(table)('$rule is kept by functions that exist', ({ keptBy }) => {
    expect(keptBy).not.toEqual([])
    for (const { file, name } of keptBy) {
      expect(existsSync(path.join(ROOT, file)), file).toBe(true)
      expect(read(file), `${name} in ${file}`).toMatch(new RegExp(`(?:function\\*?|const|class) ${name}\\b`))
    }
  })
})

describe('the checks of the formal model', () => {
  it('use only properties and worlds that the model has', () => {
    const properties = unique(all(model, /\bP ?[!=]= ?(\d+)/g))
    const worlds = all(model, /^#ifndef (?!R_)(\w+)$/gm)
    for (const { property, world } of ROWS) {
      expect(properties).toContain(String(property))
      for (const name of Object.keys(world ?? {})) expect(worlds).toContain(name)
    }
  })

  it('expect every property to hold somewhere, except the witness that the model is not empty', () => {
    const held = unique(ROWS.filter(({ wanted }) => wanted === 'holds').map(({ property }) => String(property)))
    // 0 is 1 to 4 and 6 together, 9 is the model's own witness
    expect(held).toEqual(unique(['0', '1', '5', '7', '8', '10']))
  })

  it('expect a failure when a call outlives the settle window and the provider ignores keys', () => {
    const assumption = ROWS.filter(({ world, without }) => !without && world?.BOUNDED === 0 && world.KEYED === 0)
    expect(assumption).toMatchObject([{ property: 1, wanted: 'fails' }])
  })
})
