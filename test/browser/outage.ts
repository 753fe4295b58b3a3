// A database that takes no connections for a while, as one that is being restored.
import type { Locator, Page } from '@playwright/test'
import { expect } from '../support/browser'
import { send, until } from '../support/client'
import type { Site } from '../support/site'
import { runSql } from '../support/tenant'

/** Ends when the site has its database again, and knows it. */
export async function withoutDatabase(
  { url, databaseUrl }: Pick<Site, 'url' | 'databaseUrl'>,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const server = new URL(databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  await runSql(server.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await runSql(server.href, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  try {
    await meanwhile()
  } finally {
    await runSql(server.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    await until(
      () => send(new URL('/api/ready', url)),
      ({ status }) => status === 200,
      30_000,
    )
  }
}

/** A node finds out in its own time that its database is back. */
export async function tryAgain(page: Page, shown: Locator): Promise<void> {
  const button = page.getByRole('button', { name: 'Try again' })
  await expect(async () => {
    if (await button.isVisible()) await button.click({ timeout: 500 })
    await expect(shown).toBeVisible({ timeout: 2000 })
  }).toPass({ timeout: 30_000 })
}
