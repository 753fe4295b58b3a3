// Where a list goes on: opaque to clients, and checked like any input when it comes back.
import type { z } from 'zod'

export const encodeCursor = (position: unknown): string => Buffer.from(JSON.stringify(position)).toString('base64url')

/** Undefined for what we never handed out. */
export function decodeCursor<Schema extends z.ZodType>(schema: Schema, text: string): z.infer<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))).data
  } catch {
    return undefined
  }
}
