// A real browser in front of a real node. Which one: the one that CHROMIUM names, else the system's, else the one that
// comes with the packages of this project, which needs neither root nor a download.
import { existsSync } from 'node:fs'
import { expect as atOnce, type Browser, type BrowserContext, chromium, type Page } from '@playwright/test'
import type { Result, RunOptions } from 'axe-core'
import axe from 'axe-core'

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A machine that is busy with something else is no failure: what is right is seen as soon as it is there. */
export const expect = atOnce.configure({ timeout: 20_000 })

export async function openBrowser(): Promise<Browser> {
  const named = process.env.CHROMIUM ?? SYSTEM.find(existsSync)
  if (named) return chromium.launch({ executablePath: named, args: QUIET })
  const { default: packaged } = await import('@sparticuz/chromium')
  // Without its own arguments: they run it in one process, which ends with the first context that is closed, and without
  // the web's security, which is tested here.
  return chromium.launch({ executablePath: await packaged.executablePath(), args: QUIET })
}

export interface Visit {
  theme?: 'light' | 'dark'
  width?: number
  height?: number
}

export interface Person {
  email: string
  password: string
}

/** A browser of one person's own, signed in. The page that people do it on is for the tests that are about it. */
export async function signedIn(
  browser: Browser,
  url: string,
  person: Person,
  visit: Visit = {},
): Promise<BrowserContext> {
  const context = await stranger(browser, url, visit)
  const { email, password } = person
  const answer = await context.request.post('/api/auth/sign-in', {
    data: { email, password },
    headers: { origin: url },
  })
  if (!answer.ok()) throw new Error(`the sign-in of ${email} got ${answer.status()}: ${await answer.text()}`)
  return context
}

export async function stranger(browser: Browser, url: string, visit: Visit = {}): Promise<BrowserContext> {
  const { theme = 'light', width = 1440, height = 900 } = visit
  const context = await browser.newContext({
    baseURL: url,
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  })
  return patient(context)
}

/**
 * A page can be read before its scripts listen, and what a test presses then is lost, as it would be for a person who is
 * that fast. So going somewhere ends when all of the page listens, unless the test says how long to wait.
 */
function patient(context: BrowserContext): BrowserContext {
  const newPage = context.newPage.bind(context)
  context.newPage = async () => {
    const page = await newPage()
    const goto = page.goto.bind(page)
    const reload = page.reload.bind(page)
    page.goto = async (url, options) => {
      const answer = await goto(url, options)
      if (!options?.waitUntil) await listening(page)
      return answer
    }
    page.reload = async (options) => {
      const answer = await reload(options)
      if (!options?.waitUntil) await listening(page)
      return answer
    }
    return page
  }
  return context
}

/**
 * React has taken over every control that the server has sent, also those of parts that come late, and has run the
 * effects that listen to the keyboard: nothing is left to do. A public page has no React.
 */
export async function listening(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const isTaken = (element: Element) => Object.keys(element).some((name) => name.startsWith('__reactProps$'))
    const controls = () => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea')]
    const hasReact = [...document.scripts].some(({ src }) => src)
    while (hasReact && !controls().every(isTaken)) await new Promise(requestAnimationFrame)
    await new Promise((resolve) => requestIdleCallback(resolve))
  })
}

/** What every page is looked at with: each theme, and from a small phone to a large screen. */
export const LOOKS = [
  ['light', 1440],
  ['dark', 1440],
  ['dark', 320],
  ['light', 1920],
] as const

/** The same page in other light and at another width: both are the page's to follow without being loaded again. */
export async function dress(page: Page, theme: 'light' | 'dark', width: number): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  await page.setViewportSize({ width, height: 900 })
}

/** Nothing stands beyond the edge. What is drawn by a script follows a new width a moment later. */
export const expectToFit = (page: Page): Promise<void> =>
  expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth))
    .toBeLessThanOrEqual(0)

/** What axe finds wrong on the page, each with where: to be compared with nothing. */
export async function violations(page: Page): Promise<string[]> {
  // The page's own policy lets in no script of ours; the browser's tools may.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
  // Next takes the title away for some milliseconds whenever the address changes.
  await expect(page).toHaveTitle(/./)
  const found = await page.evaluate(async () => {
    const { axe: here } = window as unknown as { axe: { run(how: RunOptions): Promise<{ violations: Result[] }> } }
    // What is in order need not be described, nor are style sheets fetched for rules that are not asked for.
    return (await here.run({ resultTypes: ['violations'], preload: false })).violations
  })
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target} ${failureSummary}`),
  )
}

/** Everything that the browser complains about: scripts that throw, policies that are broken, answers that fail. */
export function complaints(page: Page): string[] {
  const heard: string[] = []
  page.on(
    'console',
    (message) => message.type() === 'error' && heard.push(`${message.text()} ${message.location().url}`),
  )
  page.on('pageerror', (error) => heard.push(String(error)))
  return heard
}
