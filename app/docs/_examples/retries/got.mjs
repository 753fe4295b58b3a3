import got from 'got'

const onceover = got.extend({
  headers: {
    authorization: `Bearer ${process.env.ONCEOVER_API_KEY}`,
    prefer: 'wait=20, busy=503',
  },
  timeout: { request: 30_000 }, // of each try
  retry: {
    methods: ['POST'],
    statusCodes: [429, 500, 502, 503, 504],
    limit: 20,
    backoffLimit: 30_000,
    maxRetryAfter: 300_000,
  },
})

// The key was stored before the first call. The signal bounds all tries.
export const placeOrder = (key, order) =>
  onceover
    .post(`${process.env.ONCEOVER_URL}/api/orders`, {
      headers: { 'idempotency-key': key },
      json: order,
      signal: AbortSignal.timeout(300_000),
    })
    .json()
