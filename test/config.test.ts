// A bad value stops the start with one line that names it.
import { describe, expect, it } from 'vitest'
import { parseConfig } from '../lib/config'

describe('the configuration', () => {
  it('has a default for every value, and treats an empty variable as unset', () => {
    expect(parseConfig({ PORT: '', DEMO_API_KEY: '' })).toMatchObject({
      port: 3000,
      leaseMs: 60_000,
      gatewayTimeLimitMs: 10_000,
      settleMs: 120_000,
      keyTtlHours: 24,
      tombstoneHours: 168,
      worker: true,
      gateway: 'sandbox',
      sandboxIdempotent: true,
      demoApiKey: undefined,
    })
  })

  it('takes PUBLIC_URL as an origin, and refuses anything more', () => {
    expect(parseConfig({ PUBLIC_URL: 'https://API.example.com/' }).publicUrl).toBe('https://api.example.com')
    for (const url of [
      'api.example.com',
      'ftp://api.example.com',
      'https://api.example.com/v1',
      'https://a@example.com',
    ])
      expect(() => parseConfig({ PUBLIC_URL: url }), url).toThrow('Configuration: PUBLIC_URL: must')
  })

  it('accepts fractions, and 0 for an interval', () => {
    expect(
      parseConfig({ KEY_TTL_HOURS: '0.5', SWEEP_INTERVAL_SECONDS: '0.25', REAP_INTERVAL_SECONDS: '0' }),
    ).toMatchObject({ keyTtlHours: 0.5, sweepIntervalMs: 250, reapIntervalMs: 0 })
  })

  it.each([
    ['no URL', {}, false],
    ['one URL', { DATABASE_URL: 'postgresql://a@db/x' }, false],
    [
      'the same host and port',
      { DATABASE_URL: 'postgres://a@db/x', DIRECT_DATABASE_URL: 'postgresql://b@db:5432/x?a=1' },
      false,
    ],
    ['another port', { DATABASE_URL: 'postgresql://a@db:6432/x', DIRECT_DATABASE_URL: 'postgresql://a@db/x' }, true],
    ['another host', { DATABASE_URL: 'postgresql://a@pooler/x', DIRECT_DATABASE_URL: 'postgresql://a@db/x' }, true],
  ])('treats the database as pooled only if its URLs differ in host or port: %s', (_, urls, pooled) => {
    expect(parseConfig(urls).databasePooled).toBe(pooled)
  })

  it.each([
    ['LEASE_SECONDS', 'abc'],
    ['LEASE_SECONDS', '20'],
    ['LEASE_SECONDS', '1e12'],
    ['SWEEP_INTERVAL_SECONDS', '1e300'],
    ['SWEEP_INTERVAL_SECONDS', '-1'],
    ['GATEWAY_TIMEOUT_MS', '0'],
    ['PORT', '70000'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['RESTORED_FROM', 'yesterday'],
    ['RESTORED_FROM', '2026-11-17T09:30:00'],
    ['RESTORED_FROM', '2999-01-01T00:00:00Z'],
    ['WORKER', 'maybe'],
    ['FAST_PATH', '1'],
    ['GATEWAY', 'paypal'],
    ['SANDBOX_IDEMPOTENT', 'yes'],
    ['ADMIN_EMAIL', 'nobody'],
    ['ADMIN_PASSWORD', 'x'.repeat(11)],
    ['DEMO_API_KEY', 'a b c'.repeat(10)],
    ['DEMO_API_KEY', 'x'.repeat(31)],
    ['ADMIN_TOKEN', 'a b c'.repeat(10)],
    ['ADMIN_TOKEN', 'x'.repeat(31)],
    ['METRICS_TOKEN', 'x'.repeat(31)],
    ['AUTH_SECRET', 'x'.repeat(31)],
    ['AUTH_SECRET', `${'x'.repeat(31)}\n`],
  ])('refuses %s=%s with an error of one line that names the variable', (name, value) => {
    expect(() => parseConfig({ [name]: value })).toThrow(new RegExp(`^Configuration: ${name}: [^\\n]+$`))
  })

  it('accepts secrets of 32 characters and a password of 12', () => {
    const secret = 'x'.repeat(32)
    const given = { DEMO_API_KEY: secret, ADMIN_TOKEN: secret, METRICS_TOKEN: secret, ADMIN_PASSWORD: 'x'.repeat(12) }
    expect(parseConfig(given)).toMatchObject({ demoApiKey: secret, adminToken: secret, metricsToken: secret })
  })

  it('requires both Stripe secrets for Stripe, and strips a trailing newline', () => {
    expect(() => parseConfig({ GATEWAY: 'stripe', STRIPE_SECRET_KEY: 'sk' })).toThrow(/STRIPE_WEBHOOK_SECRET/)
    const given = { GATEWAY: 'stripe', STRIPE_SECRET_KEY: 'sk\n', STRIPE_WEBHOOK_SECRET: 'whsec' }
    expect(parseConfig(given)).toMatchObject({ stripeSecretKey: 'sk' })
  })
})
