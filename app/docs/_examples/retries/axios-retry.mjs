import axios from 'axios'
import axiosRetry from 'axios-retry'

const onceover = axios.create({
  headers: {
    authorization: `Bearer ${process.env.ONCEOVER_API_KEY}`,
    prefer: 'wait=20, busy=503',
  },
  timeout: 30_000, // of each try, because of shouldResetTimeout
})
axiosRetry(onceover, {
  retries: 20,
  shouldResetTimeout: true,
  retryCondition: (error) =>
    error.code === 'ECONNABORTED' || axiosRetry.isRetryableError(error),
  retryDelay: (tries, error) => axiosRetry.exponentialDelay(Math.min(tries, 8), error),
})

// The key was stored before the first call. The signal bounds all tries.
export async function placeOrder(key, order) {
  const { data } = await onceover.post(`${process.env.ONCEOVER_URL}/api/orders`, order, {
    headers: { 'idempotency-key': key },
    signal: AbortSignal.timeout(300_000),
  })
  return data
}
