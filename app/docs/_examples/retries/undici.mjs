import { Agent, RetryAgent, request } from 'undici'

const TIMEOUTS = ['CONNECT', 'HEADERS', 'BODY'].map((part) => `UND_ERR_${part}_TIMEOUT`)
const CUT = ['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ENOTFOUND']
const dispatcher = new RetryAgent(new Agent({ headersTimeout: 30_000 }), {
  methods: ['POST'],
  statusCodes: [429, 500, 502, 503, 504],
  errorCodes: [...CUT, ...TIMEOUTS],
  maxRetries: 10,
  maxTimeout: 300_000, // of a pause, Retry-After too
})

// The key was stored before the first call.
export async function placeOrder(key, order) {
  const { statusCode, body } = await request(`${process.env.ONCEOVER_URL}/api/orders`, {
    dispatcher,
    method: 'POST',
    headers: {
      authorization: `Bearer ${process.env.ONCEOVER_API_KEY}`,
      prefer: 'wait=20, busy=503',
      'idempotency-key': key,
      'content-type': 'application/json',
    },
    body: JSON.stringify(order),
  })
  if (statusCode !== 201) throw new Error(`${statusCode} ${await body.text()}`)
  return body.json()
}
