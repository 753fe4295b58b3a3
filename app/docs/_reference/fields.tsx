// The members of a JSON object, nested ones by their path, with their rules in words.
import table from '../_parts/table.module.css'
import { follow, type Schema } from './document'
import { Inline } from './prose'

interface Field {
  path: string
  required: boolean
  type: string
  rules: string[]
  description: string
}

export function Fields({ of, requests = false }: { of: Schema; requests?: boolean }) {
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">Member</th>
          <th scope="col">Type</th>
          <th scope="col">What it is</th>
        </tr>
      </thead>
      <tbody>
        {fieldsOf(of).map(({ path, required, type, rules, description }) => (
          <tr key={path}>
            <th scope="row">
              <code>{path}</code>
            </th>
            <td className={`${table.quiet} ${table.keep}`}>{type}</td>
            <td>
              <Inline>{sentences(requests && !required ? ['optional', ...rules] : rules, description)}</Inline>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function sentences(rules: string[], description: string): string {
  const [first = '', ...rest] = rules.join(', ')
  const said = first.toUpperCase() + rest.join('')
  return [said, description].filter(Boolean).join('. ')
}

function fieldsOf(schema: Schema, prefix = ''): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const path = prefix + name
    const { inner, nullable } = withoutNull(follow<Schema>(member as Schema))
    const item = inner.items ? follow<Schema>(inner.items as Schema) : null
    const described = (member as Schema).description ?? ''
    const field: Field = {
      path,
      required: schema.required?.includes(name) ?? false,
      type: typeOf(inner, item) + (nullable ? ' or null' : ''),
      rules: rulesOf(inner),
      description: described,
    }
    return [field, ...(item ? fieldsOf(item, `${path}[].`) : fieldsOf(inner, `${path}.`))]
  })
}

/** zod writes a nullable type as `anyOf: [type, null]`, or as a list of types. */
function withoutNull(schema: Schema): { inner: Schema; nullable: boolean } {
  const isNull = (one: object) => 'type' in one && one.type === 'null'
  if (schema.anyOf?.some(isNull))
    return { inner: follow<Schema>(schema.anyOf.find((one) => !isNull(one)) as Schema), nullable: true }
  if (Array.isArray(schema.type) && schema.type.includes('null'))
    return { inner: { ...schema, type: schema.type.find((type) => type !== 'null') }, nullable: true }
  return { inner: schema, nullable: false }
}

function typeOf(schema: Schema, item: Schema | null): string {
  if (item) return item.properties ? 'array of objects' : `array of ${item.type}s`
  if (schema.format === 'date-time') return 'date and time'
  return String(schema.type)
}

/** More than these are a table of their own. */
const LISTED_VALUES = 10

function rulesOf(schema: Schema): string[] {
  const rules: string[] = []
  if (schema.enum && schema.enum.length <= LISTED_VALUES)
    rules.push(`one of ${schema.enum.map((value) => `\`${value}\``).join(', ')}`)
  if (schema.maxLength !== undefined) rules.push(`${range(schema.minLength, schema.maxLength)} characters`)
  if (schema.maxItems !== undefined) rules.push(`${range(schema.minItems, schema.maxItems)} items`)
  if (schema.maximum !== undefined) rules.push(range(schema.minimum, schema.maximum))
  else if (schema.minimum !== undefined) rules.push(`at least ${schema.minimum}`)
  if (schema.default !== undefined) rules.push(`default \`${schema.default}\``)
  return rules
}

const count = (value: number) => value.toLocaleString('en')
const range = (low: number | undefined, high: number): string =>
  low ? `${count(low)}–${count(high)}` : `at most ${count(high)}`

export { rulesOf, sentences }
