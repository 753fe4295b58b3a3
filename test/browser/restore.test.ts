// What every page says while the fence of a restore is up.
import { afterAll, beforeAll, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, violations } from '../support/browser'
import { openSite, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { type Desk, hire, sit } from './key-desk'

const AN_HOUR_MS = 3_600_000

let site: Site
let browser: Awaited<ReturnType<typeof openBrowser>>
let desk: Desk
beforeAll(async () => {
  const RESTORED_FROM = new Date(Date.now() - AN_HOUR_MS).toISOString()
  ;[site, browser] = await Promise.all([openSite({ RESTORED_FROM, SETTLE_SECONDS: '3600' }), openBrowser()])
  desk = await sit(browser, site.url, await hire(site.url, 'viewer', 'Vera Sol'))
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

test('a banner says that new requests wait, then until when RESTORED_FROM is needed, and leads to the run', async () => {
  const { page } = desk
  await page.goto('/keys')
  const banner = page.getByRole('status').filter({ hasText: 'Restored' })
  await expect(banner).toContainText('New requests wait')
  await looked()
  await runSql(site.databaseUrl, 'UPDATE restores SET ends_at = clock_timestamp()')
  await expect(async () => {
    await page.reload()
    await expect(banner).toContainText('Keep RESTORED_FROM set until', { timeout: 500 })
  }).toPass()
  await looked()
  await banner.getByRole('link', { name: 'Restore run' }).click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Restore')
  await looked()

  async function looked() {
    for (const [theme, width] of LOOKS) {
      await dress(page, theme, width)
      await expectToFit(page)
      expect(await violations(page)).toEqual([])
    }
  }
})
