// SECURITY.md claims nothing that no test shows: each threat names tests, and each test that is named is there.
import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, read, tableOf } from './pages'

interface Shown {
  file: string
  title: string
}

/** `file` “title”, “another title of the same file”; `other file` “title” */
function shownIn(cell: string): Shown[] {
  return cell.split(/;(?= `)/).flatMap((part) => {
    const [, file, titles] = /^\s*`([^`]+)` (“.*”)\s*$/.exec(part) ?? []
    if (!file || !titles) throw new Error(`not understood: ${part}`)
    return [...titles.matchAll(/“([^”]+)”/g)].map(([, title]) => ({ file, title: title! }))
  })
}

const hasTitle = ({ file, title }: Shown): boolean =>
  existsSync(path.join(ROOT, file)) && read(file).replaceAll("\\'", "'").includes(title)

const THREATS = tableOf(read('SECURITY.md'), ['threat', 'control', 'shown by']).map(([threat, control, by]) => ({
  threat: threat!,
  control: control!,
  shown: shownIn(by!),
}))

describe('a threat in SECURITY.md', () => {
  it.each(THREATS)('has a control and names tests that exist: $threat', ({ control, shown }) => {
    expect(control).not.toBe('')
    expect(shown).not.toEqual([])
    expect(shown.filter((test) => !hasTitle(test))).toEqual([])
  })

  it('that names a missing or renamed test is detected', () => {
    const [first] = THREATS[0]!.shown
    expect(hasTitle({ ...first!, title: `${first!.title}, never written` })).toBe(false)
    expect(hasTitle({ ...first!, file: 'test/none.test.ts' })).toBe(false)
    expect(() => shownIn('`log.test.ts` without a title')).toThrow('not understood')
  })
})
