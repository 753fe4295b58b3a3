// One line of JSON an event, with the request, run or job that it was written in. Secrets are masked here, whoever
// logs them: by their name, and once more by their looks on the finished line.
import pino from 'pino'
import { type Config, config } from './config'
import { openMask } from './mask'
import { processWide } from './process-wide'
import { currentRequestId } from './request-context'

const SECRET_NAMES = ['authorization', 'cookie', 'password', 'secret', 'token', 'paymentMethod', 'connectionString']
/** What the database says of a row that it refused is the row itself, a client's request included. */
const ROW_IN_ERROR = 'err.detail'

export const log = () => processWide('log', () => openLog(config()))

export function openLog(settings: Config, destination?: pino.DestinationStream): pino.Logger {
  const mask = openMask([
    settings.adminToken,
    settings.adminPassword,
    settings.demoApiKey,
    settings.metricsToken,
    settings.stripeSecretKey,
    settings.stripeWebhookSecret,
    settings.sandboxWebhookSecret,
    settings.authSecret,
  ])
  return pino(
    {
      name: 'onceover',
      level: settings.logLevel,
      mixin: () => ({ requestId: currentRequestId() }),
      redact: {
        paths: [...SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), ROW_IN_ERROR],
        censor: '[masked]',
      },
      hooks: { streamWrite: mask },
    },
    ...(destination ? [destination] : []),
  )
}
