'use server'
import { z } from 'zod'
import { parseSearch } from '../../../../lib/console/search-text'
import type { Suggested } from '../../../../lib/console/suggest-values'
import { answerTo } from '../../_shell/answer'

const Asked = z.object({
  qualifier: z.enum(['tenant', 'endpoint', 'error']),
  typed: z
    .string()
    .max(255)
    .refine((text) => text.isWellFormed() && !text.includes('\0')),
  /** The rest of the search: what it matches is what is counted. */
  rest: z.string().max(4000),
})

/** A help for those who type: where it can't be had, there is none. */
export async function suggest(asked: z.infer<typeof Asked>): Promise<Suggested[]> {
  const found = await answerTo(Asked, asked, ({ call, services }, { qualifier, typed, rest }) => {
    const parsed = parseSearch(rest)
    const { [qualifier]: replaced, ...filter } = parsed.ok ? parsed.filter : {}
    return services.suggestValues(call, { qualifier, typed, filter })
  })
  return found.ok ? found.value : []
}
