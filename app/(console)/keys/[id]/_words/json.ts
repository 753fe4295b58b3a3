// JSON as people read it: a member a line, and what is small enough stays on its line. Only white space differs.

export function readable(body: string, widest = 64): string {
  try {
    return written(JSON.parse(body), '', widest)
  } catch {
    return body
  }
}

function written(value: unknown, indent: string, widest: number): string {
  const flat = inOneLine(value)
  if (typeof value !== 'object' || value === null || (indent && flat.length <= widest)) return flat
  const inner = `${indent}  `
  return enclosed(value, (member) => written(member, inner, widest), [`\n${inner}`, `,\n${inner}`, `\n${indent}`])
}

const inOneLine = (value: unknown): string =>
  typeof value === 'object' && value !== null ? enclosed(value, inOneLine, [' ', ', ', ' ']) : JSON.stringify(value)

function enclosed(
  value: object,
  write: (member: unknown) => string,
  [before, between, after]: readonly [string, string, string],
): string {
  const isList = Array.isArray(value)
  const members = isList
    ? value.map(write)
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${write(member)}`)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  return members.length === 0 ? open + close : open + before + members.join(between) + after + close
}
