// One call of the operator API, described once: its route and its page in the OpenAPI document are made from this.
import type { z } from 'zod'
import type { OperatorServices } from '../node/operator-services'
import type { Role } from '../operators/role'
import type { UseCase } from '../operators/use-case'
import type { ProblemCode } from './problem'
import type { Streamed } from './respond'

// biome-ignore lint/suspicious/noExplicitAny: a schema of anything
type Schema = z.ZodType<any>

export interface OperatorCall<
  Query extends Schema = Schema,
  Body extends Schema = Schema,
  Input = unknown,
  Output = unknown,
> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With its parameters in braces, as the OpenAPI document has it. */
  path: `/api/${string}`
  operationId: string
  tag: string
  summary: string
  description?: string
  /** What each parameter of the path must look like; anything else names nothing. */
  params?: Record<string, RegExp>
  query?: Query
  body?: Body
  bodyExample?: unknown
  /** Who may: the use case's own role, said here for the document; a test holds them together. */
  role: Role
  /** The status and shape of the answer; null where there is nothing to say. */
  answer: {
    status: 200 | 201 | 204
    schema: Schema | null
    example?: unknown
    description: string
    /** The same in another form, by media type: an example. */
    alsoAs?: Record<string, string>
  }
  /** Beside those that any call can come to. */
  problems?: readonly ProblemCode[]
  /** The answer has a secret: it is shown once, and never stored. */
  showsSecret?: true
  /** The body as its fingerprint sees it: what is stored of a password must not be a fast hash. */
  withoutSecrets?(body: z.infer<Body>): unknown
  does(services: OperatorServices): UseCase<Input, Output>
  input(asked: { params: Record<string, string>; query: z.infer<Query>; body: z.infer<Body> }): Input
  /** What is left to do with the output before it is sent, such as wrapping a cursor. */
  present?(output: Output): unknown
  /** Of a GET whose answer is too long to be held: instead of `present`. */
  stream?(output: Output, asked: { query: z.infer<Query> }): Streamed
}

/** Keeps what the schemas say for `input`, and forgets it for whoever lists calls. */
export const operatorCall = <Query extends Schema, Body extends Schema, Input, Output>(
  call: OperatorCall<Query, Body, Input, Output>,
): OperatorCall<Query, Body, Input, Output> => call

// biome-ignore lint/suspicious/noExplicitAny: a list of calls of different inputs and outputs
export type AnyOperatorCall = OperatorCall<any, any, any, any>
