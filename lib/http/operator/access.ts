// Who operates: the caller, and what admins do about everybody else.
import { z } from 'zod'
import type { CreatedOperator, ListedOperator, OperatorView } from '../../operators/people'
import { ROLES } from '../../operators/role'
import { operatorCall } from '../operator-call'
import { isStorable } from '../validate'
import { listOf, PageQuery, pageOf, withCursor } from './paging'

const TAG = 'Operators: access'
export const OPERATOR = /^opr_[0-9a-z]{26}$/

export const Role = z.enum(ROLES)
export const Name = z.string().trim().min(1).max(100).refine(isStorable, 'has a NUL or a lone surrogate')
export const Reason = z
  .string()
  .trim()
  .min(1)
  .max(2000)
  .refine(isStorable, 'has a NUL or a lone surrogate')
  .optional()
  .meta({ description: 'Why, for the audit log' })
const Email = z.email().max(254)
export const Password = z.string().min(12).max(128).refine(isStorable, 'has a NUL or a lone surrogate')

const actorMembers = { id: z.string(), name: z.string(), role: Role }

/** Whoever signs in is a person, and has an address. */
export const SignedIn = z
  .object({ ...actorMembers, email: z.string() })
  .meta({ id: 'SignedInOperator', description: 'A person who is signed in' })
export const Credentials = z.strictObject({ email: Email, password: z.string().min(1).max(128) })

const members = {
  id: z.string(),
  name: z.string(),
  email: z.string(),
  role: Role,
  disabled: z.boolean(),
  createdAt: z.iso.datetime(),
}
const Operator = z
  .object(members)
  .meta({ id: 'Operator', description: 'A person who operates' }) satisfies z.ZodType<OperatorView>
const ListedOperatorSchema = z
  .object({
    ...members,
    sessionCount: z.int().meta({ description: 'Sessions that have not ended' }),
    tokens: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .meta({ description: 'Tokens that end with this person' }),
  })
  .meta({
    id: 'ListedOperator',
    description: 'A person who operates, with sessions and tokens',
  }) satisfies z.ZodType<ListedOperator>
const Created = z.object({
  ...actorMembers,
  email: z.string(),
  password: z.string().nullable().meta({ description: 'The one that was made up; null where you gave one' }),
}) satisfies z.ZodType<CreatedOperator>

const operator: OperatorView = {
  id: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4',
  name: 'Ada Byron',
  email: 'ada@example.com',
  role: 'operator',
  disabled: false,
  createdAt: '2025-11-16T09:20:11.402Z',
}

export const showSession = operatorCall({
  method: 'GET',
  path: '/api/auth/session',
  operationId: 'getSession',
  tag: TAG,
  summary: 'Who am I?',
  description: 'Of a session or a token: who the caller is, and what they may do. A token has no e-mail address.',
  role: 'viewer',
  answer: {
    status: 200,
    description: 'The caller.',
    schema: z.object({ ...actorMembers, email: z.string().optional() }),
    example: { id: operator.id, name: operator.name, role: operator.role, email: operator.email },
  },
  does: (services) => services.showSession,
  input: () => undefined,
})

export const listOperators = operatorCall({
  method: 'GET',
  path: '/api/admin/operators',
  operationId: 'listOperators',
  tag: TAG,
  summary: 'List operators',
  description: 'Newest first.',
  role: 'admin',
  query: PageQuery,
  answer: {
    status: 200,
    description: 'A page of operators.',
    schema: listOf(ListedOperatorSchema),
    example: {
      items: [
        { ...operator, sessionCount: 1, tokens: [{ id: 'tok_01jcq208d1f4h7k0n3q6s9v2x5', name: 'nightly report' }] },
      ],
      nextCursor: null,
    },
  },
  does: (services) => services.listOperators,
  input: ({ query }) => pageOf(query),
  present: withCursor,
})

export const createOperator = operatorCall({
  method: 'POST',
  path: '/api/admin/operators',
  operationId: 'createOperator',
  tag: TAG,
  summary: 'Add an operator',
  description: 'Without a `password` one is made up and shown this once: hand it over, and ask for it to be changed.',
  role: 'admin',
  body: z.strictObject({ name: Name, email: Email, role: Role, password: Password.optional(), reason: Reason }),
  bodyExample: { name: operator.name, email: operator.email, role: operator.role },
  answer: {
    status: 201,
    description: 'The operator, with the password where it was made up.',
    schema: Created,
    example: {
      id: operator.id,
      name: operator.name,
      role: operator.role,
      email: operator.email,
      password: 'q2vN8x_5TzKd0mRw',
    },
  },
  problems: ['already_exists'],
  showsSecret: true,
  withoutSecrets: ({ password: _, ...rest }) => rest,
  does: (services) => services.createOperator,
  input: ({ body }) => body,
})

export const updateOperator = operatorCall({
  method: 'PATCH',
  path: '/api/admin/operators/{id}',
  operationId: 'updateOperator',
  tag: TAG,
  summary: 'Change an operator',
  description:
    'Only what is sent changes, on every node at once. Disabling somebody, and a new password, end all of their ' +
    'sessions. Disabling also ends their tokens for good: hand over first what has to go on. The last enabled admin can be neither demoted nor disabled.',
  params: { id: OPERATOR },
  role: 'admin',
  body: z.strictObject({
    name: Name.optional(),
    role: Role.optional(),
    disabled: z.boolean().optional(),
    password: Password.optional(),
    reason: Reason,
  }),
  bodyExample: { role: 'operator', reason: 'Is on call from now on' },
  answer: {
    status: 200,
    description: 'The operator as it is now.',
    schema: Operator,
    example: operator,
  },
  problems: ['last_admin'],
  does: (services) => services.updateOperator,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const endOperatorSessions = operatorCall({
  method: 'DELETE',
  path: '/api/admin/operators/{id}/sessions',
  operationId: 'endOperatorSessions',
  tag: TAG,
  summary: 'Sign an operator out everywhere',
  description: 'Ends all sessions that there are, on every node at once. They may sign in again.',
  params: { id: OPERATOR },
  role: 'admin',
  query: z.strictObject({ reason: Reason }),
  answer: { status: 204, description: 'They are signed out.', schema: null },
  does: (services) => services.endOperatorSessions,
  input: ({ params, query }) => ({ id: params.id!, ...query }),
})
