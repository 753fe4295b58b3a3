// The OpenAPI document: made from the schemas that validate and from the table of problems that answers, so it can't
// say anything else than what the API does.
import { createDocument, type oas31, type ZodOpenApiOverride } from 'zod-openapi'
import manifest from '../../package.json'
import { clientPaths } from './openapi-client-paths'
import { headerComponents } from './openapi-headers'
import { operatorPaths } from './openapi-operator-paths'
import { servicePaths } from './openapi-service-paths'
import { sharedSchemas, withSharedComponents } from './openapi-shared'
import { signInPaths } from './openapi-sign-in-paths'
import { webhooks } from './openapi-webhooks'
import { originOf } from './origin'
import { json, type Parts } from './respond'

export type OpenApi = oas31.OpenAPIObject

const DESCRIPTION = `Orders and refunds that happen once, however often they are sent.

Send every POST with an \`Idempotency-Key\`. The first request with a key does the work and its answer is stored; the
same request with the same key gets that answer again, byte for byte. Errors are \`application/problem+json\` (RFC 9457)
and say in \`retry\` what to do next.

No answer, or one with \`Retry-After\`: send the same request with the same key, not before that time and with a random
delay that grows. Any other error is final for this request as it is; no program makes a new key because of one. A key
is answered from its record until \`Idempotency-Expires\`, and then with 410 until it is forgotten. The guide at
\`/docs\` of the service has all of this with examples, and its page of each problem says what to do next.

Every answer has \`x-request-id\`: your own id of the request, or one of ours. Tell us when something is wrong.`

/** What zod adds for its own sake, and what would promise a client too much. */
const tidy: ZodOpenApiOverride = ({ jsonSchema, zodSchema, io }) => {
  const { def } = zodSchema._zod
  // An answer may grow a field without breaking a client that was made from this document.
  if (io === 'output' && def.type === 'object' && !def.catchall) delete jsonSchema.additionalProperties
  // The range of a safe integer says nothing about the value, and a date-time's pattern nothing beyond its format.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  // The names of a JSON object's members are strings.
  if (def.type === 'record') delete jsonSchema.propertyNames
}

const document: OpenApi = createDocument(
  {
    openapi: '3.1.0',
    info: {
      title: 'Onceover API',
      version: manifest.version,
      description: DESCRIPTION,
      contact: { name: 'The operators of this service', url: '/docs' },
      license: { name: 'All rights reserved', identifier: 'LicenseRef-Unlicensed' },
    },
    security: [{ operatorToken: [] }, { operatorSession: [] }],
    tags: [
      { name: 'Orders', description: 'Placing orders, and reading them.' },
      { name: 'Refunds', description: 'Giving back what an order took.' },
      { name: 'Idempotency keys', description: 'What became of a request.' },
      { name: 'Operators: keys', description: 'Finding keys, and deciding what became of them.' },
      { name: 'Operators: runs', description: 'Sweeper, reaper, reconciler, ledger comparison, and bulk actions.' },
      { name: 'Operators: insight', description: 'Numbers, misuse, discrepancies, and who did what.' },
      { name: 'Operators: access', description: 'Sign-in, tenants, API keys, people and tokens.' },
      { name: 'Sandbox', description: 'The embedded payment provider, for tests and demos.' },
      { name: 'Webhooks', description: 'What payment providers send to this service.' },
      { name: 'Service', description: 'The service itself: its description, its health and its numbers.' },
    ],
    components: {
      schemas: sharedSchemas,
      headers: headerComponents,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API key of a tenant. All keys of a tenant share its records.',
        },
        operatorToken: { type: 'http', scheme: 'bearer', description: 'An operator’s token.' },
        operatorSession: {
          type: 'apiKey',
          in: 'cookie',
          name: 'onceover.session_token',
          description: 'The session of somebody who signed in. Changes must come from this site’s own pages.',
        },
        metricsToken: { type: 'http', scheme: 'bearer', description: 'The token of `METRICS_TOKEN`.' },
      },
    },
    webhooks,
    paths: { ...clientPaths, ...signInPaths, ...operatorPaths(), ...servicePaths },
  },
  { override: tidy },
)

export const openApi: OpenApi = withSharedComponents(document)

/** What depends on who asks is not for a shared cache: it could give one client's address of the service to another. */
export const servedOpenApi = (request: Request, publicUrl: string | null): Parts =>
  json(200, openApiAt(publicUrl ?? originOf(request)), {
    'cache-control': `${publicUrl ? 'public' : 'private'}, max-age=300`,
  })

/** The document of a service that clients reach at this origin. */
export const openApiAt = (origin: string): OpenApi => ({
  ...openApi,
  info: { ...openApi.info, contact: { ...openApi.info.contact, url: `${origin}/docs` } },
  servers: [{ url: origin, description: 'This service' }],
})
