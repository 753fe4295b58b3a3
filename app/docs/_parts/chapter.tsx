// A chapter of the guide, and what its sentences are made of.
import type { ReactNode } from 'react'
import type { ProblemCode } from '../../../lib/http/problem'
import styles from '../docs.module.css'
import table from './table.module.css'

export const Chapter = ({ id, title, children }: { id: string; title: string; children: ReactNode }) => (
  <section id={id} className={styles.section} aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    {children}
  </section>
)

export const ProblemLink = ({ code }: { code: ProblemCode }) => (
  <a href={`/docs/problems/${code}`}>
    <code>{code}</code>
  </a>
)

interface Row {
  /** What the row is about, and what it is known by. */
  name: string
  shown?: ReactNode
  cells: readonly ReactNode[]
}

interface RowsProps {
  head: readonly string[]
  rows: readonly Row[]
  /** The names are short and stay on one line. */
  keepNames?: boolean
}

/** The first column names the row; the second says what matters, and what follows is said more quietly. */
export const Rows = ({ head, rows, keepNames = false }: RowsProps) => (
  <table className={table.table}>
    <thead>
      <tr>
        {head.map((title) => (
          <th key={title} scope="col">
            {title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map(({ name, shown = name, cells }) => (
        <tr key={name}>
          <th scope="row" className={keepNames ? table.keep : undefined}>
            {shown}
          </th>
          {cells.map((cell, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row's cells never move
            <td key={i} className={i > 0 ? table.quiet : undefined}>
              {cell}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
