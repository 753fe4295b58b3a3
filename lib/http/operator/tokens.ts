// Tokens for scripts.
import { z } from 'zod'
import type { CreatedToken, TokenView } from '../../operators/tokens'
import { operatorCall } from '../operator-call'
import { Name, OPERATOR, Reason, Role } from './access'
import { listOf, PageQuery, pageOf, withCursor } from './paging'

const TAG = 'Operators: access'
const TOKEN = /^tok_[0-9a-z]{26}$/

const Token = z
  .object({
    id: z.string(),
    name: z.string(),
    role: Role,
    createdBy: z.object({ id: z.string(), name: z.string() }),
    owner: z.object({ id: z.string(), name: z.string() }).nullable().meta({
      description: 'The person with whom it ends; null for one that was made with the environment’s `ADMIN_TOKEN`',
    }),
    createdAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    revokedAt: z.iso.datetime().nullable(),
    lastUsedAt: z.iso.datetime().nullable().meta({ description: 'To the minute' }),
  })
  .meta({ id: 'OperatorToken', description: 'A token for scripts, without its secret' }) satisfies z.ZodType<TokenView>
const Created = z.object({
  id: z.string(),
  name: z.string(),
  role: Role,
  expiresAt: z.iso.datetime().nullable(),
  secret: z.string(),
}) satisfies z.ZodType<CreatedToken>

const token: TokenView = {
  id: 'tok_01jcq208d1f4h7k0n3q6s9v2x5',
  name: 'nightly report',
  role: 'viewer',
  createdBy: { id: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4', name: 'Ada Byron' },
  owner: { id: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4', name: 'Ada Byron' },
  createdAt: '2025-11-16T09:31:40.877Z',
  expiresAt: '2026-02-14T09:31:40.877Z',
  revokedAt: null,
  lastUsedAt: '2025-11-16T13:58:02.118Z',
}

export const listTokens = operatorCall({
  method: 'GET',
  path: '/api/admin/tokens',
  operationId: 'listTokens',
  tag: TAG,
  summary: 'List operator tokens',
  description: 'Newest first, revoked ones too. What a token’s secret is, nobody knows.',
  role: 'admin',
  query: PageQuery,
  answer: {
    status: 200,
    description: 'A page of tokens.',
    schema: listOf(Token),
    example: { items: [token], nextCursor: null },
  },
  does: (services) => services.listTokens,
  input: ({ query }) => pageOf(query),
  present: withCursor,
})

export const createToken = operatorCall({
  method: 'POST',
  path: '/api/admin/tokens',
  operationId: 'createToken',
  tag: TAG,
  summary: 'Create an operator token',
  description:
    'The secret is shown this once: only its hash is stored. The token belongs to the caller, or to the person to whom ' +
    'the caller’s token belongs, and ends when they are disabled.',
  role: 'admin',
  body: z.strictObject({
    name: Name,
    role: Role,
    expiresInDays: z.int().min(1).max(3650).nullable().default(90).meta({ description: 'null: it never runs out' }),
    reason: Reason,
  }),
  bodyExample: { name: token.name, role: token.role, expiresInDays: 90 },
  answer: {
    status: 201,
    description: 'The token, with its secret.',
    schema: Created,
    example: {
      id: token.id,
      name: token.name,
      role: token.role,
      expiresAt: token.expiresAt,
      secret: 'oo_op_0123456789abcdef0123456789abcdef01234567',
    },
  },
  showsSecret: true,
  does: (services) => services.createToken,
  input: ({ body }) => body,
})

export const updateToken = operatorCall({
  method: 'PATCH',
  path: '/api/admin/tokens/{id}',
  operationId: 'updateToken',
  tag: TAG,
  summary: 'Hand an operator token over',
  description:
    'To another person, with whom it ends from now on. It works as before, and so does its secret. A token that is ' +
    'revoked can’t be handed over: that is a 404.',
  params: { id: TOKEN },
  role: 'admin',
  body: z.strictObject({
    ownerId: z.string().regex(OPERATOR).meta({ description: 'A person who is not disabled' }),
    reason: Reason,
  }),
  bodyExample: { ownerId: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4', reason: 'Grace leaves in March' },
  answer: { status: 200, description: 'The token as it is now.', schema: Token, example: token },
  does: (services) => services.updateToken,
  input: ({ params, body }) => ({ id: params.id!, ...body }),
})

export const revokeToken = operatorCall({
  method: 'DELETE',
  path: '/api/admin/tokens/{id}',
  operationId: 'revokeToken',
  tag: TAG,
  summary: 'Revoke an operator token',
  description: 'It is dead on every node at once. Revoking it again changes nothing and succeeds.',
  params: { id: TOKEN },
  role: 'admin',
  query: z.strictObject({ reason: Reason }),
  answer: { status: 204, description: 'It is revoked.', schema: null },
  does: (services) => services.revokeToken,
  input: ({ params, query }) => ({ id: params.id!, ...query }),
})
