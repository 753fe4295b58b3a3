// A schema's refusal in the words of the contract: where, and what is wrong.
import { z } from 'zod'

export type Validated<T> = { ok: true; value: T } | { ok: false; issues: { path: string; message: string }[] }

/** More would tell nobody anything, and a hostile body could name thousands. */
const MAX_ISSUES = 50

export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): Validated<z.infer<Schema>> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  return {
    ok: false,
    issues: parsed.error.issues.slice(0, MAX_ISSUES).map((issue) => ({
      path: z.core.toDotPath(issue.path),
      message: issue.message,
    })),
  }
}

/** Text that PostgreSQL can compare with: a NUL names nothing. */
export const isStorable = (value: string): boolean => !value.includes('\0') && value.isWellFormed()
