// Many in one statement. What many requests ask of the store at one time, each for a row of its own, goes there as one
// statement with one commit: planned, checked and flushed once for all of them. Nobody waits for company: who comes while
// the line is free goes at once, and those who come while it is taken go together as soon as it is not.
import type { Sql } from 'sql-template-tag'
import { StoreUnavailable } from './sqlstate'

/** What the store needs to know of a statement. */
export type Statement = Pick<Sql, 'text' | 'values'>

/** One that may run together with others of its kind, each for a row of its own. By itself it is one like any other. */
export interface Together extends Statement {
  /** Its row is the one that comes back with this `id`; there may be none. */
  readonly id: string
  /** Rows are locked in this order, whoever sends them: two statements never wait for each other both. */
  readonly lock: string
  /** The statement for many of its kind. */
  readonly many: string
}

export const isTogether = (statement: Statement): statement is Together => 'many' in statement

const PREFIX = 'WITH sent AS (SELECT), '

/** The texts of all statements that differ in nothing but their values. */
interface Shape {
  strings: readonly string[]
  one: string
  many: string
}
const shapes: Shape[] = []

/** Told by its parts, most of which are the very same literals, and not by its text, which would have to be made first. */
function shapeOf(body: Sql): Shape {
  const { strings } = body
  const isThis = (shape: Shape) =>
    shape.strings.length === strings.length && shape.strings.every((string, i) => string === strings[i])
  let shape = shapes.find(isThis)
  if (!shape) {
    shape = { strings, one: PREFIX + body.text, many: textOf(strings) }
    shapes.push(shape)
  }
  return shape
}

/**
 * `body` is written as for one row, and with `sent` in the FROM wherever it has a value. For many, each value is a column
 * of `sent`, as text, and the same body is right for any number of rows; alone, `sent` is one row of nothing, and a value
 * is a parameter like any other, which is planned and read more quickly.
 */
export function together(of: { id: string; lock: string }, body: Sql): Together {
  const { one: text, many } = shapeOf(body)
  return { ...of, text, many, values: body.values }
}

/** The same for a body that touches more than its own row, and must run by itself. */
export const alone = (body: Sql): Statement => ({ text: PREFIX + body.text, values: body.values })

function textOf(strings: readonly string[]): string {
  const columns = strings.slice(1).map((_, i) => `sent_${i + 1}`)
  const arrays = columns.map((_, i) => `$${i + 1}::text[]`)
  // The planner takes an unknown limit for a tenth of what it expects of `unnest`, which is ten rows. So it plans for one
  // and finds each by its index, however few rows the table had when the plan was made.
  const sent = `SELECT * FROM unnest(${arrays.join(', ')}) AS s(${columns.join(', ')}) LIMIT cardinality($1::text[])`
  return `WITH sent AS (${sent}), ${strings.reduce((text, string, i) => `${text}sent_${i}${string}`)}`
}

/** More in one statement gain nothing. */
const MOST = 64
/** Who has waited so long does not wait for a statement that is held up, by a lock say, but goes beside it… */
const PATIENCE_MS = 50
/** …as long as there are no more than so many: the rest of the pool is for others. */
const MOST_UNDER_WAY = 4
/** And after this long it is said that the store can't be asked, as to everybody who waits for a connection. */
const LONGEST_WAIT_MS = 3000

interface Waiting {
  statement: Together
  sinceMs: number
  resolve(rows: unknown[]): void
  reject(error: unknown): void
}

/** Those of one kind. */
class Line {
  readonly #run: (statement: Statement) => Promise<unknown[]>
  readonly #isRefusal: (error: unknown) => boolean
  #waiting: Waiting[] = []
  #underWay = 0
  #due: NodeJS.Immediate | null = null
  #patience: NodeJS.Timeout | null = null
  #limit: NodeJS.Timeout | null = null

  constructor(run: (statement: Statement) => Promise<unknown[]>, isRefusal: (error: unknown) => boolean) {
    this.#run = run
    this.#isRefusal = isRefusal
  }

  join(one: Waiting): void {
    this.#waiting.push(one)
    this.#next()
  }

  #next(): void {
    const [longest] = this.#waiting
    if (!longest) return
    this.#limit ??= setTimeout(() => this.#turnAway(), longest.sinceMs + LONGEST_WAIT_MS - performance.now()).unref()
    // Not before everything is read that has arrived by now.
    if (this.#underWay === 0) this.#due ??= setImmediate(() => this.#send())
    else if (this.#underWay < MOST_UNDER_WAY) this.#patience ??= setTimeout(() => this.#send(), PATIENCE_MS)
  }

  #turnAway(): void {
    this.#limit = null
    const sentBy = performance.now() - LONGEST_WAIT_MS
    const late = this.#waiting.filter(({ sinceMs }) => sinceMs <= sentBy)
    this.#waiting = this.#waiting.filter(({ sinceMs }) => sinceMs > sentBy)
    for (const { reject } of late) reject(new StoreUnavailable('too many wait for it'))
    this.#next()
  }

  async #send(): Promise<void> {
    clearImmediate(this.#due ?? undefined)
    clearTimeout(this.#patience ?? undefined)
    this.#due = null
    this.#patience = null
    const sent = this.#take()
    if (sent.length === 0) return
    this.#underWay++
    // Who comes from here on, or did not fit, is next.
    this.#next()
    try {
      const rows = (await this.#run(merged(sent))) as { id: string }[]
      const byId = new Map(rows.map((row) => [row.id, row]))
      for (const { statement, resolve } of sent) {
        const row = byId.get(statement.id)
        resolve(row ? [row] : [])
      }
    } catch (error) {
      // Nothing of it was done, and one of them is to blame: each for itself, the others go through.
      if (sent.length > 1 && this.#isRefusal(error))
        await Promise.all(sent.map(({ statement, resolve, reject }) => this.#run(statement).then(resolve, reject)))
      else for (const { reject } of sent) reject(error)
    } finally {
      this.#underWay--
      this.#next()
    }
  }

  /** Those that have waited longest; of one row only one. */
  #take(): Waiting[] {
    const ids = new Set<string>()
    const taken: Waiting[] = []
    const left: Waiting[] = []
    for (const one of this.#waiting) {
      const { id } = one.statement
      if (taken.length === MOST || ids.has(id)) left.push(one)
      else taken.push(one)
      ids.add(id)
    }
    this.#waiting = left
    return taken
  }
}

function merged(sent: readonly Waiting[]): Statement {
  const [first] = sent
  if (sent.length === 1) return first!.statement
  const { many: text, values } = first!.statement
  const rows = sent.map(({ statement }) => statement).sort((a, b) => (a.lock < b.lock ? -1 : 1))
  return { text, values: values.map((_, column) => rows.map((row) => row.values[column])) }
}

/**
 * @param run one statement, whole or not at all
 * @param isRefusal whether the store says itself that nothing of it was done, and could do another
 */
export function gathering(
  run: <Row>(statement: Statement) => Promise<Row[]>,
  isRefusal: (error: unknown) => boolean,
): <Row>(statement: Together) => Promise<Row[]> {
  const lines = new Map<string, Line>()
  function lineOf(kind: string): Line {
    const line = lines.get(kind) ?? new Line(run, isRefusal)
    lines.set(kind, line)
    return line
  }
  return (statement) =>
    new Promise((resolve, reject) =>
      lineOf(statement.many).join({
        statement,
        sinceMs: performance.now(),
        resolve: resolve as Waiting['resolve'],
        reject,
      }),
    )
}
