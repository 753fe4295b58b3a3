// Whether the audit log is what was written.
import { z } from 'zod'
import { BREAKS, type Verification } from '../../audit/verify'
import { operatorCall } from '../operator-call'

const AuditVerification = z
  .object({
    holds: z.boolean(),
    entries: z.int().meta({ description: 'How many are in order, from the first one on' }),
    brokenAt: z.int().nullable().meta({ description: 'The number of the first entry that is not in order' }),
    what: z
      .enum(BREAKS)
      .nullable()
      .meta({
        description:
          '`changed`: it is not what its hash was made of. `missing`: the ones after it are there. `inserted`: the chain ' +
          'has no such number. `not_chained`: it was not written after the one before it. `cut_off`: it and all after ' +
          'it are gone. `head_missing`: nobody can tell whether it was there',
      }),
    lastHash: z.string().meta({ description: 'The hash of the last entry in order, to be noted elsewhere' }),
  })
  .meta({
    id: 'AuditVerification',
    description: 'Whether the audit log is what was written',
  }) satisfies z.ZodType<Verification>

export const verifyAudit = operatorCall({
  method: 'GET',
  path: '/api/admin/audit/verify',
  operationId: 'verifyAudit',
  tag: 'Operators: insight',
  summary: 'Verify the audit log',
  description:
    'Computes the hash of every entry again and says where the chain first breaks, if it does. A log that was ' +
    'rewritten to its very end is in order by itself: compare `lastHash` with one that you noted elsewhere.',
  role: 'viewer',
  answer: {
    status: 200,
    description: 'Whether it holds; if not, where it breaks and how.',
    schema: AuditVerification,
    example: {
      holds: true,
      entries: 1288,
      brokenAt: null,
      what: null,
      lastHash: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
  does: (services) => services.verifyAudit,
  input: () => undefined,
})
