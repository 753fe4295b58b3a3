// The pages for people who work on this tree, and what they name in it.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export const ROOT = path.resolve(import.meta.dirname, '../..')

export const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')

export const foldersOf = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)

/** What is written by hand: the crash matrix is generated. */
export const PAGES: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(path.join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

const TREE = ['app', 'docs', 'lib', 'ops', 'prisma', 'scripts', 'test']

/** Everything in backticks that begins with a folder of ours, and whatever is linked to within the tree. */
export function pathsIn(page: string): string[] {
  const text = read(page)
  const quoted = [...text.matchAll(/`([^`\s]+)`/g)].map(([, word]) => word!)
  const named = quoted.filter((word) => TREE.some((folder) => word.startsWith(`${folder}/`)))
  const linked = [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(([, to]) => path.join(path.dirname(page), to!))
  return [...new Set([...named, ...linked])]
}

/** The rows of the table that has these columns. */
export function tableOf(text: string, columns: readonly string[]): string[][] {
  const lines = text.split('\n')
  const head = lines.indexOf(`| ${columns.join(' | ')} |`)
  if (head < 0) throw new Error(`there is no table of ${columns.join(', ')}`)
  const end = lines.findIndex((line, i) => i > head && !line.startsWith('|'))
  return lines.slice(head + 2, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim()),
  )
}

export const quotedIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
