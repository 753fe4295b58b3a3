'use server'
import { z } from 'zod'
import type { Discrepancy } from '../../../lib/console/discrepancies'
import { isId } from '../../../lib/db/id'
import { reasonOf } from '../../../lib/http/operator/key-actions'
import { type Answer, answerTo } from '../_shell/answer'

const Closing = z.object({ id: z.string().refine((text) => isId('dis', text)), reason: reasonOf(1) })

export async function closeDiscrepancy(asked: z.input<typeof Closing>): Promise<Answer<Discrepancy>> {
  return answerTo(Closing, asked, ({ call, services }, closing) => services.closeDiscrepancy(call, closing))
}
