// Settings against what was measured. A lease that is hardly longer than an attempt makes outcomes unknown that were only
// slow; a retention shorter than a client's patience makes it ask for answers that are gone. With too little data there
// is no advice, and that is said.
import { z } from 'zod'
import { type Buckets, boundCovering, percentile, shareBeyond, sizeOf } from '../metrics/percentile'

/** So that some five lie beyond the 99th percentile, and one beyond the 99.9th. */
const ENOUGH_ATTEMPTS = 500
const ENOUGH_REPLAYS = 1000
const RECOMMENDED_TIMES = 3
const WARN_UNDER_TIMES = 2
const COVERED_SHARE = 0.999

const basis = {
  enough: z.boolean().meta({ description: 'Whether so many were measured that there is advice at all' }),
  samples: z.int(),
  windowDays: z.int().meta({ description: 'Measured over so many days' }),
}

export const Advice = z
  .object({
    lease: z.object({
      ...basis,
      p99Seconds: z.number().nullable().meta({ description: 'Of requests that ran an attempt themselves' }),
      leaseSeconds: z.number().meta({ description: 'As it is set' }),
      recommendedSeconds: z.number().nullable().meta({
        description: 'Three times that, and never less than the gateway’s time limit allows',
      }),
      warn: z.boolean().meta({ description: 'It is set to less than twice that' }),
    }),
    retention: z.object({
      ...basis,
      p90Seconds: z.number().nullable(),
      p99Seconds: z.number().nullable(),
      p999Seconds: z.number().nullable().meta({
        description: 'From the first request to those that came for its answer, also to those that came too late',
      }),
      retentionSeconds: z.number().meta({ description: 'As it is set: the tenant’s own, or what holds for all' }),
      recommendedSeconds: z.number().nullable().meta({
        description: 'Covers 99.9 % of them; null also where that is more than the seven days that are told apart',
      }),
      tooLateShare: z.number().nullable().meta({ description: 'Of them came when the answer was gone, about' }),
      warn: z.boolean().meta({ description: 'It is set to less than that' }),
    }),
  })
  .meta({ id: 'Advice', description: 'Whether lease and retention fit what was measured' })
export type Advice = z.infer<typeof Advice>

export interface Settings {
  leaseSeconds: number
  gatewayTimeLimitSeconds: number
  retentionSeconds: number
}

export const LEASE_WINDOW_DAYS = 7
export const RETENTION_WINDOW_DAYS = 30

export function adviseOn(settings: Settings, attempts: Buckets, replayDelays: Buckets): Advice {
  return { lease: adviseLease(settings, attempts), retention: adviseRetention(settings, replayDelays) }
}

function adviseLease({ leaseSeconds, gatewayTimeLimitSeconds }: Settings, attempts: Buckets): Advice['lease'] {
  const samples = sizeOf(attempts)
  const p99Seconds = percentile('attempt', attempts, 0.99)
  const enough = samples >= ENOUGH_ATTEMPTS
  // A start with less is refused: an attempt may look up and then call.
  const least = Math.floor(2 * gatewayTimeLimitSeconds) + 1
  const known = enough && p99Seconds !== null
  return {
    enough,
    samples,
    windowDays: LEASE_WINDOW_DAYS,
    p99Seconds,
    leaseSeconds,
    recommendedSeconds: known ? Math.max(least, Math.ceil(RECOMMENDED_TIMES * p99Seconds)) : null,
    warn: known && leaseSeconds < WARN_UNDER_TIMES * p99Seconds,
  }
}

function adviseRetention({ retentionSeconds }: Settings, delays: Buckets): Advice['retention'] {
  const samples = sizeOf(delays)
  const p999Seconds = percentile('replay_delay', delays, COVERED_SHARE)
  const enough = samples >= ENOUGH_REPLAYS
  return {
    enough,
    samples,
    windowDays: RETENTION_WINDOW_DAYS,
    p90Seconds: percentile('replay_delay', delays, 0.9),
    p99Seconds: percentile('replay_delay', delays, 0.99),
    p999Seconds,
    retentionSeconds,
    recommendedSeconds: enough ? boundCovering('replay_delay', delays, COVERED_SHARE) : null,
    tooLateShare: shareBeyond('replay_delay', delays, retentionSeconds),
    warn: enough && p999Seconds !== null && retentionSeconds < p999Seconds,
  }
}
