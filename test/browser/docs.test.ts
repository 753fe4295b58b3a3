// The reference, as a stranger reads it: on a phone and on a large screen, by day and by night.
import type { Browser, BrowserContext, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { PROBLEM_CODES } from '../../lib/http/openapi-problem'
import { dress, expect, expectToFit, LOOKS, openBrowser, stranger, violations } from '../support/browser'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'

let site: Site
let browser: Browser
let context: BrowserContext
let page: Page
beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite({ ...QUICK_PROVIDER, WORKER: 'off' }), openBrowser()])
  context = await stranger(browser, site.url)
  page = await context.newPage()
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

describe.each(['/docs', '/docs/problems/idempotency_key_reused', '/docs/problems/idempotency_outcome_unknown'])(
  'the page %s',
  (path) => {
    test('fits every screen width and has no axe violations in either theme', async () => {
      await page.goto(path)
      for (const [theme, width] of LOOKS) {
        await dress(page, theme, width)
        await expectToFit(page)
      }
      // It is a long page, and axe reads all of it: once in each theme, large and small.
      for (const [theme, width] of [LOOKS[0], LOOKS[2]]) {
        await dress(page, theme, width)
        expect(await violations(page), `${theme} ${width}`).toEqual([])
      }
    })

    test('has a target for every link within itself', async () => {
      await page.goto(path)
      const dangling = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')]
          .map((link) => link.getAttribute('href') ?? '')
          .filter((href) => !document.getElementById(href.slice(1))),
      )
      expect(dangling).toEqual([])
    })
  },
)

test('the table of contents of /docs has every chapter, on wide and narrow screens', async () => {
  await dress(page, 'light', 1440)
  await page.goto('/docs')
  const chapters = await page.locator('main section[id]:has(> h2)').evaluateAll((all) => all.map(({ id }) => id))
  expect(chapters).toEqual(expect.arrayContaining(['start', 'keys', 'retries', 'clients', 'retention', 'problems']))
  for (const id of chapters) await expect(page.locator(`a[href="#${id}"]:visible`).first()).toBeVisible()
  await dress(page, 'light', 320)
  await page.getByText('On this page').click()
  const contents = page.getByRole('navigation', { name: 'On this page' })
  for (const id of chapters) await expect(contents.locator(`a[href="#${id}"]`)).toBeVisible()
  await contents.getByRole('link', { name: 'Retention and expiry' }).click()
  await expect(page.getByRole('heading', { name: 'Retention and expiry' })).toBeInViewport()
})

test('every problem code has a page that says whether, when and with which key to retry', async () => {
  for (const code of PROBLEM_CODES) {
    const html = await (await context.request.get(`/docs/problems/${code}`)).text()
    for (const question of ['Send it again?', 'With which key?', 'When?']) expect(html, code).toContain(question)
  }
})

test('the reference states the default retention times', async () => {
  await page.goto('/docs#retention')
  const retention = page.getByRole('region', { name: 'Retention and expiry' })
  await expect(retention).toContainText('24 hours from the answer on')
  await expect(retention).toContainText('7 days at least')
})
