// JSON as text that need not be JSON: a value is taken apart, some of its parts are replaced by what a serialiser would
// never write (1e400, a member twice, a lone surrogate), and it is written again.
import fc from 'fast-check'

type Tree = string | { list: Tree[] } | { members: [string, Tree][] }

export const ODD_VALUES = [
  'null',
  'true',
  '{}',
  '[]',
  '""',
  '-0',
  '0',
  '-1',
  '0.5',
  '1e400',
  '-1e400',
  '1e-400',
  '1E+2',
  '9007199254740993',
  '2147483648',
  '99999999999999999999999999',
  'NaN',
  '01',
  "'x'",
  'undefined',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"\0"',
  '"\x01"',
  '"\xff\xfe"',
  '"\xef\xbb\xbf"',
  '"\\u202e"',
  '"__proto__"',
  '" "',
  '"0000-01-01T00:00:00Z"',
  '"2026-01-01T00:00:00+23:59"',
  '"\'; DROP TABLE orders; --"',
  `"${'x'.repeat(64)}"`,
  `"${'x'.repeat(65)}"`,
  `"${'x'.repeat(3000)}"`,
  `${'['.repeat(2000)}${']'.repeat(2000)}`,
  '['.repeat(20_000),
  `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`,
] as const

const ODD_NAMES = ['__proto__', 'constructor', 'toString', '', 'tenantId', 'id', '\\u0000', '\\ud800', 'a'.repeat(300)]

const treeOf = (value: unknown): Tree => {
  if (Array.isArray(value)) return { list: value.map(treeOf) }
  if (value && typeof value === 'object')
    return { members: Object.entries(value).map(([name, member]) => [name, treeOf(member)]) }
  return JSON.stringify(value)
}

const textOf = (tree: Tree): string => {
  if (typeof tree === 'string') return tree
  if ('list' in tree) return `[${tree.list.map(textOf).join(',')}]`
  return `{${tree.members.map(([name, member]) => `"${name}":${textOf(member)}`).join(',')}}`
}

type Change = (tree: Tree) => Tree | null

/** Changes the part that comes `at`th, the whole being the first; null takes it out. */
function changed(whole: Tree, at: number, change: Change): Tree {
  let seen = -1
  const visit = (tree: Tree): Tree | null => {
    if (++seen === at) return change(tree)
    if (typeof tree === 'string') return tree
    if ('list' in tree) return { list: tree.list.map(visit).filter((one) => one !== null) }
    return {
      members: tree.members.map(([name, one]) => [name, visit(one)] as const).filter(hasValue),
    }
  }
  return visit(whole) ?? 'null'
}
const hasValue = (member: readonly [string, Tree | null]): member is [string, Tree] => member[1] !== null

const countParts = (tree: Tree): number => {
  if (typeof tree === 'string') return 1
  const parts = 'list' in tree ? tree.list : tree.members.map(([, one]) => one)
  return parts.reduce((sum, one) => sum + countParts(one), 1)
}

const withMember =
  (name: string, value: string): Change =>
  (tree) =>
    typeof tree === 'object' && 'members' in tree ? { members: [[name, value], ...tree.members] } : value
const twice: Change = (tree) =>
  typeof tree === 'object' && 'members' in tree
    ? { members: [...tree.members, ...tree.members] }
    : { list: [tree, tree] }

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(...ODD_VALUES).map(
      (text): Change =>
        () =>
          text,
    ),
  },
  { weight: 1, arbitrary: fc.constant<Change>(() => null) },
  { weight: 1, arbitrary: fc.constant<Change>(twice) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...ODD_NAMES), fc.constantFrom(...ODD_VALUES))
      .map(([name, value]) => withMember(name, value)),
  },
  {
    weight: 1,
    arbitrary: fc.json({ maxDepth: 2 }).map(
      (text): Change =>
        () =>
          text,
    ),
  },
)

/** Nearly the value: one to three of its parts are something else. */
export const mutated = (value: unknown): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.nat(1000), change), { minLength: 1, maxLength: 3 })
    .map((changes) =>
      textOf(changes.reduce((tree, [at, how]) => changed(tree, at % countParts(tree), how), treeOf(value))),
    )
