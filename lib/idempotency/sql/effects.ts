// Effects join a move's statement as further common table expressions, so they commit with it or not at all.
import sql, { empty, join, type Sql } from 'sql-template-tag'
import type { Effects } from '../operation'

export const withEffects = (effects: Effects): Sql => (effects.length ? sql`, ${join(effects as Sql[], ', ')}` : empty)
