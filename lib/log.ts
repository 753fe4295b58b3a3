// One line of JSON an event. Secrets are masked here, whoever logs them.
import pino from 'pino'
import { config } from './config'
import { processWide } from './process-wide'

export const log = () =>
  processWide('log', () =>
    pino({
      name: 'onceover',
      level: config().logLevel,
      redact: ['*.authorization', '*.password', '*.secret', '*.paymentMethod', '*.connectionString'],
    }),
  )
