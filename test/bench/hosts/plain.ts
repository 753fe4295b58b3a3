// Plain node:http around one handler: the least that a Node program can do for a request.
// Usage: plain.ts <handler>, with DATABASE_URL and REDIS_URL in the environment. Prints its URL.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { HANDLERS } from '../handlers'
import { REDIS_HANDLERS } from '../redis-handlers'

const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '' } = process.env
const all = { ...HANDLERS, ...REDIS_HANDLERS }
const handle = await all[process.argv[2] as keyof typeof all]({ databaseUrl, redisUrl })

const server = http.createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    try {
      const answer = await handle(Buffer.concat(chunks).toString('utf8'), String(request.headers['idempotency-key']))
      response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) })
      response.end(answer.body)
    } catch (error) {
      console.error(error)
      response.writeHead(500).end()
    }
  })
})
server.listen(0, () => console.log(`http://localhost:${(server.address() as AddressInfo).port}`))
// Whoever started us is gone.
process.once('disconnect', () => process.exit())
