// A database that takes no connections for a while, as one that is being restored.
import { expect, type Locator, type Page } from '@playwright/test'
import { runSql } from '../support/tenant'

export async function withoutDatabase(databaseUrl: string, meanwhile: () => Promise<void>): Promise<void> {
  const server = new URL(databaseUrl)
  const name = server.pathname.slice(1)
  server.pathname = '/postgres'
  await runSql(server.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await runSql(server.href, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name])
  try {
    await meanwhile()
  } finally {
    await runSql(server.href, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
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
