// A real browser in front of a real node. Which one: the one that CHROMIUM names, else the system's, else the one that
// comes with the packages of this project, which needs neither root nor a download.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from '@playwright/test'
import type { Result } from 'axe-core'
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

export async function openBrowser(): Promise<Browser> {
  const named = process.env.CHROMIUM ?? SYSTEM.find(existsSync)
  if (named) return chromium.launch({ executablePath: named, args: QUIET })
  const { default: packaged } = await import('@sparticuz/chromium')
  return chromium.launch({ executablePath: await packaged.executablePath(), args: [...packaged.args, ...QUIET] })
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

/** A browser of one person's own, signed in through the page that people use. */
export async function signedIn(
  browser: Browser,
  url: string,
  person: Person,
  visit: Visit = {},
): Promise<BrowserContext> {
  const context = await stranger(browser, url, visit)
  const page = await context.newPage()
  await page.goto('/login')
  await page.getByLabel('Email').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL((at) => at.pathname !== '/login')
  await page.close()
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
 * that fast. So going somewhere ends when the page has come to rest.
 */
function patient(context: BrowserContext): BrowserContext {
  const newPage = context.newPage.bind(context)
  context.newPage = async () => {
    const page = await newPage()
    const goto = page.goto.bind(page)
    page.goto = (url, options) => goto(url, { waitUntil: 'networkidle', ...options })
    return page
  }
  return context
}

/** What axe finds wrong on the page, each with where: to be compared with nothing. */
export async function violations(page: Page): Promise<string[]> {
  // The page's own policy lets in no script of ours; the browser's tools may.
  await page.evaluate(axe.source)
  const found = await page.evaluate(async () => {
    const { axe: here } = window as unknown as { axe: { run(): Promise<{ violations: Result[] }> } }
    return (await here.run()).violations
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
