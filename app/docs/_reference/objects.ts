// What answers are made of, with an example of each; requests are described where they are sent.
import { completedRecord, order, refund } from '../../../lib/http/openapi-examples'
import { problemExample } from '../../../lib/http/openapi-problem'

export const OBJECTS: Record<string, unknown> = {
  Order: order,
  Refund: refund,
  IdempotencyRecord: completedRecord,
  Problem: problemExample('idempotency_key_expired').body,
}

export const OBJECT_NAMES = Object.keys(OBJECTS)
