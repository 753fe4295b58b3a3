// Signing in and out, which are no operator's calls: there is nobody yet, or nobody any more.
import type { ZodOpenApiPathsObject } from 'zod-openapi'
import { headers } from './openapi-headers'
import { FAILURES, problemResponses } from './openapi-problem'
import { Credentials, SignedIn } from './operator/access'

const TAG = 'Operators: access'

const cookie = (description: string, example: string) => ({
  'Set-Cookie': { description, schema: { type: 'string' as const }, example },
})

export const signInPaths: ZodOpenApiPathsObject = {
  '/api/auth/sign-in': {
    post: {
      operationId: 'signIn',
      tags: [TAG],
      summary: 'Sign in',
      description:
        'For people. A session lasts for 12 hours after its last use, and for 30 days at most. After 5 wrong passwords ' +
        'for an e-mail address from one network within 15 minutes nobody signs in with it from there until they are ' +
        'over, but for browsers that signed in with it before: their device cookie says so. Scripts use a token instead.',
      security: [],
      requestBody: {
        content: {
          'application/json': {
            schema: Credentials,
            example: { email: 'ada@example.com', password: 'q2vN8x_5TzKd0mRw' },
          },
        },
      },
      responses: {
        '200': {
          description: 'Signed in.',
          headers: {
            ...cookie(
              'Two: the session, and the device by which this browser is known at the next sign-in.',
              'onceover.session_token=…; Path=/; HttpOnly; SameSite=Lax',
            ),
            ...headers('x-request-id'),
          },
          content: {
            'application/json': {
              schema: SignedIn,
              example: {
                id: 'opr_01jcq1z7c0e3g6j9m2p5r8t1w4',
                name: 'Ada Byron',
                role: 'operator',
                email: 'ada@example.com',
              },
            },
          },
        },
        ...problemResponses([
          'cross_origin',
          'unsupported_media_type',
          'body_too_large',
          'malformed_json',
          'invalid_request',
          'rate_limited',
          'unauthenticated',
          ...FAILURES,
        ]),
      },
    },
  },
  '/api/auth/sign-out': {
    post: {
      operationId: 'signOut',
      tags: [TAG],
      summary: 'Sign out',
      description: 'Ends the session on every node at once. Whoever is signed out already stays so.',
      security: [{ operatorSession: [] }],
      responses: {
        '204': {
          description: 'Signed out.',
          headers: {
            ...cookie('Forgets the session.', 'onceover.session_token=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0'),
            ...headers('x-request-id'),
          },
        },
        ...problemResponses(['cross_origin', ...FAILURES]),
      },
    },
  },
}
