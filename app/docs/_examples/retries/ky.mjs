import ky from 'ky'

const onceover = ky.create({
  headers: {
    authorization: `Bearer ${process.env.ONCEOVER_API_KEY}`,
    prefer: 'wait=20, busy=503',
  },
  timeout: 30_000, // of each try
  retry: {
    methods: ['post'],
    statusCodes: [429, 500, 502, 503, 504],
    afterStatusCodes: [429, 503, 504],
    retryOnTimeout: true,
    limit: 20,
    backoffLimit: 30_000,
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
