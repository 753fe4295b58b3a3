// What the fail-over proof prints: a column for each scenario.

export interface Column {
  name: string
  rows: Readonly<Record<string, string | number>>
}

export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

export function tableOf(columns: readonly Column[]): string {
  const names = [...new Set(columns.flatMap(({ rows }) => Object.keys(rows)))]
  const lines = [
    ['', ...columns.map(({ name }) => name)],
    ['', ...columns.map(() => '')].map(() => '---'),
    ...names.map((name) => [name, ...columns.map(({ rows }) => String(rows[name] ?? ''))]),
  ]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
