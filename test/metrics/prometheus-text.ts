// Prometheus's text format, read as strictly as a scraper does: what it would refuse throws here.

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

export interface Family {
  name: string
  type: string
  help: string
  samples: Sample[]
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(.*)\\})? (\\S+)$`)
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?/y

export function parseText(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end')
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  let current: Family | undefined
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, kind, name, rest] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(name!)) throw new Error(`${name} is described twice`)
      current = { name: name!, type: 'untyped', help: rest!, samples: [] }
      families.set(name!, current)
    } else if (kind === 'TYPE') {
      if (current?.name !== name) throw new Error(`a type of ${name} without its help`)
      current!.type = rest!
    } else {
      const sample = parseSample(line)
      const series = `${sample.name} ${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (seen.has(series)) throw new Error(`${series} is there twice`)
      seen.add(series)
      if (!current || !belongs(sample.name, current)) throw new Error(`a sample without its family: ${line}`)
      current.samples.push(sample)
    }
  }
  return families
}

function belongs(name: string, { name: family, type }: Family): boolean {
  return type === 'histogram'
    ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(name)
    : name === family
}

function parseSample(line: string): Sample {
  const [, name, inner, value] = SAMPLE.exec(line) ?? []
  if (!name || (value !== 'Nan' && value !== '+Inf' && Number.isNaN(Number(value))))
    throw new Error(`not a line: ${line}`)
  const labels: Record<string, string> = {}
  for (LABEL.lastIndex = 0; inner && LABEL.lastIndex < inner.length; ) {
    const found = LABEL.exec(inner)
    if (!found) throw new Error(`not labels: ${inner}`)
    labels[found[1]!] = found[2]!.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
  }
  return { name, labels, value: Number(value) }
}

export function sumOf(families: Map<string, Family>, name: string, labels: Record<string, string> = {}): number {
  const samples = [...families.values()].flatMap((family) => family.samples)
  const fits = (sample: Sample) =>
    sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
  return samples.filter(fits).reduce((sum, { value }) => sum + value, 0)
}
