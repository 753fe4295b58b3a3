// The policy in a real browser: the pages work under it and break it nowhere, and what somebody slipped into one is not
// run.
import http, { type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from '@playwright/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { THEME_COOKIE } from '../../app/_ui/preferences'
import { complaints, openBrowser, stranger } from '../support/browser'
import { send } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'

const REFUSED = /Content Security Policy/

let site: Site
let browser: Browser
beforeAll(async () => {
  ;[site, browser] = await Promise.all([openSite({ ...QUICK_PROVIDER, WORKER: 'off' }), openBrowser()])
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

async function visit(url: string, path: string, until: 'networkidle' | 'load' = 'networkidle') {
  const context = await stranger(browser, url)
  const page = await context.newPage()
  const heard = complaints(page)
  await page.goto(path, { waitUntil: until })
  return { page, heard, close: () => context.close() }
}

test('/login runs scripts without CSP violations', async () => {
  const { page, heard, close } = await visit(site.url, '/login')
  // Next's own sign of life: its scripts have run.
  await expect.poll(() => page.locator('next-route-announcer').count(), { timeout: 20_000 }).toBe(1)
  expect(heard).toEqual([])
  await close()
})

test.each([
  ['/docs', 0],
  ['/docs/problems/forbidden', 0],
  // The browser itself complains that there is nothing.
  ['/no/such/page', 1],
])('%s applies the theme from the cookie without CSP violations', async (path, complaints) => {
  const { page, heard, close } = await visit(site.url, path)
  expect(heard.filter((line) => !REFUSED.test(line))).toHaveLength(complaints)
  expect(heard.filter((line) => REFUSED.test(line))).toEqual([])
  await page.context().addCookies([{ name: THEME_COOKIE, value: 'dark', url: site.url }])
  await page.reload({ waitUntil: 'load' })
  expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
  await close()
})

describe('markup injected into a page', () => {
  const SLIPPED_IN =
    '<script>document.title = "taken over"</script><img src="x" onerror="document.title = \'taken over\'">' +
    '<style>body { display: none }</style><base href="https://elsewhere.example/">'
  let tampering: Server
  beforeAll(async () => {
    tampering = http.createServer(async (request, response) => {
      const { status, headers, bytes } = await send(new URL(request.url!, site.url))
      const { 'transfer-encoding': _, 'content-length': __, ...passedOn } = headers
      const isPage = headers['content-type']?.startsWith('text/html')
      const body = isPage ? bytes.toString().replace('</body>', `${SLIPPED_IN}</body>`) : bytes
      response.writeHead(status, passedOn).end(body)
    })
    await new Promise<void>((resolve) => tampering.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => void tampering?.close())

  test('is blocked and reported by the Content-Security-Policy', async () => {
    const { port } = tampering.address() as AddressInfo
    // What it loads may fail here, and be asked for again: that it was drawn is enough.
    const { page, heard, close } = await visit(`http://127.0.0.1:${port}`, '/docs', 'load')
    expect(await page.title()).not.toContain('taken over')
    const refused = heard.filter((line) => REFUSED.test(line)).join('\n')
    for (const directive of ['script-src', 'style-src', 'base-uri']) expect(refused).toContain(directive)
    await close()
  })
})
