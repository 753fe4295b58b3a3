// A line of the log says which request it belongs to and no secret, whoever wrote it and however it got in.
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../lib/config'
import { openLog } from '../lib/log'
import { openMask } from '../lib/mask'
import { withRequestId } from '../lib/request-context'

const ENVIRONMENT = {
  LOG_LEVEL: 'debug',
  ADMIN_TOKEN: 'automation "quoted" is fine, and long'.replaceAll(' ', '-'),
  ADMIN_PASSWORD: 'correct horse battery',
  METRICS_TOKEN: 'scraper-token-of-thirty-two-letters',
  DEMO_API_KEY: 'a-key-of-no-shape-at-all-but-long-enough',
  SANDBOX_WEBHOOK_SECRET: 'shared-with-the-sandbox',
  AUTH_SECRET: 'what-sessions-are-signed-with-here',
}

function lines(write: (log: ReturnType<typeof openLog>) => void): { text: string; parsed: Record<string, unknown> }[] {
  const written: string[] = []
  write(openLog(parseConfig(ENVIRONMENT), { write: (line) => void written.push(line) }))
  return written.map((text) => ({ text, parsed: JSON.parse(text) }))
}

describe('the request id in the log', () => {
  it('is on every line of its request and on no other line', async () => {
    const written: unknown[] = []
    const log = openLog(parseConfig(ENVIRONMENT), { write: (line) => void written.push(JSON.parse(line).requestId) })
    log.warn('before')
    await Promise.all(
      ['req_1', 'req_2'].map((id) =>
        withRequestId(id, async () => {
          await null
          log.warn({ some: 'thing' }, 'in the middle')
          setTimeout(() => log.warn('in its own time'), 0)
        }),
      ),
    )
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(written).toEqual([undefined, 'req_1', 'req_2', 'req_1', 'req_2'])
  })

  it('that is passed explicitly is written once and replaces the current one', () => {
    const [line] = withRequestId('req_1', () => lines((log) => log.warn({ requestId: 'req_said' }, 'x')))
    expect(line!.text.match(/requestId/g)).toHaveLength(1)
    expect(line!.parsed.requestId).toBe('req_said')
  })
})

const LIVE = 'oo_live_0123456789abcdef0123456789abcdef01234567'
/** Each with the part that must never be written. */
const SECRETS: [string, unknown, string][] = [
  ['an API key in a message', `no tenant for ${LIVE}`, '0123456789abcdef'],
  ['a demo key', 'oo_demo_00112233445566778899aabbccddeeff00112233', '00112233'],
  [
    'an operator’s token in an object',
    { deep: { er: ['oo_op_00112233445566778899aabbccddeeff00112233'] } },
    '00112233',
  ],
  ['a Stripe key', new Error('Invalid API Key provided: sk_live_51AbCdEf'), '51AbCdEf'],
  ['a restricted Stripe key', 'rk_test_51AbCdEf', '51AbCdEf'],
  ['a webhook’s secret', { s: 'whsec_AbC+d/Ef=' }, 'AbC'],
  ['a database’s password', new Error('connect postgresql://app:s3cr3t-pass@db:5432/x failed'), 's3cr3t'],
  ['a database’s password without a user', 'postgres://:s3cr3t@db/x', 's3cr3t'],
  ['a database’s password as a parameter', 'postgresql://db/x?user=a&password=s3cr3t&sslmode=require', 's3cr3t'],
  ['a bearer in an error', new Error('401 for Authorization: Bearer abc.def-123'), 'abc.def'],
  ['a bearer of any case in a list of raw headers', { rawHeaders: ['authorization', 'bEARER abc.def-123'] }, 'abc.def'],
  ['basic credentials', 'authorization: Basic b25jZTpvdmVy', 'b25jZTpvdmVy'],
  ['a header by its name', { headers: { authorization: 'anything at all' } }, 'anything'],
  ['a header one level deeper', { req: { headers: { authorization: 'anything at all' } } }, 'anything'],
  ['a cookie by its name', { headers: { cookie: 'theme=dark; onceover.session_token=abc' } }, 'theme=dark'],
  ['a cookie in JSON within a message', JSON.stringify({ Cookie: 'a=b; c="d"' }), 'a=b'],
  ['a cookie in a list of raw headers', { rawHeaders: ['Cookie', 'a=b; onceover.session_token=abc'] }, 'a=b'],
  ['a cookie that is set', 'Set-Cookie: onceover.session_token=abc.def; Path=/', 'abc.def'],
  ['a session’s token', 'found onceover.session_token=abc%2Bdef in it', 'abc%2B'],
  ['a password by its name', { password: 'correct' }, 'correct'],
  ['a secret and a token by their names', { made: { secret: 'hush-hush', token: 'hush-hush' } }, 'hush'],
  ['a payment method', { body: { paymentMethod: 'pm_card_visa' } }, 'pm_card'],
  ['the environment’s ADMIN_TOKEN', `token ${ENVIRONMENT.ADMIN_TOKEN} refused`, 'quoted'],
  ['the environment’s ADMIN_PASSWORD', new Error(`"${ENVIRONMENT.ADMIN_PASSWORD}"`), 'battery'],
  ['the environment’s METRICS_TOKEN', { given: ENVIRONMENT.METRICS_TOKEN }, 'scraper'],
  ['the environment’s AUTH_SECRET', `signed with ${ENVIRONMENT.AUTH_SECRET}`, 'signed-with-here'],
  ['the environment’s DEMO_API_KEY', ENVIRONMENT.DEMO_API_KEY, 'no-shape'],
  ['the environment’s SANDBOX_WEBHOOK_SECRET', ENVIRONMENT.SANDBOX_WEBHOOK_SECRET, 'shared-with'],
  [
    'a row that the database refused',
    Object.assign(new Error('violates check constraint'), { detail: 'Failing row contains (idem_1, a note).' }),
    'a note',
  ],
  ['an error’s cause', new Error('x', { cause: new Error(`with ${LIVE}`) }), '0123456789abcdef'],
]

describe('a secret in the log', () => {
  it.each(SECRETS)('is masked: %s', (_, logged, secret) => {
    const [line] = lines((log) => {
      if (typeof logged === 'string') log.error(logged)
      else if (logged instanceof Error) log.error({ err: logged }, 'failed')
      else log.error(logged as object, 'something')
    })
    expect(line!.text).not.toContain(secret)
    expect(line!.text).toContain('[masked]')
  })

  it('is masked wherever it occurs, and the text around it is kept', () => {
    const [line] = lines((log) => log.error(`before ${LIVE} between ${LIVE} after`))
    expect(line!.parsed.msg).toBe('before oo_live_[masked] between oo_live_[masked] after')
    const url = lines((log) => log.error('postgresql://app:pass@db:5432/x?sslmode=require'))
    expect(url[0]!.parsed.msg).toBe('postgresql://app:[masked]@db:5432/x?sslmode=require')
  })
})

it('the mask leaves text without secrets unchanged', () => {
  const harmless =
    'task_1 and desk_2 of idem_01jcq2h8k3v9x4m6n7p8q9r0s1 at postgresql://postgres@127.0.0.1:5432/x, https://a/b:c@d'
  expect(openMask([])(harmless)).toBe(harmless)
})
