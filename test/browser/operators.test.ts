// Operators, as an admin adds, changes and stops people and tokens, and as everybody else sees them.
import type { Browser, Locator, Page } from '@playwright/test'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { dress, expect, expectToFit, LOOKS, openBrowser, type Person, stranger, violations } from '../support/browser'
import { send } from '../support/client'
import { openSite, QUICK_PROVIDER, type Site } from '../support/site'
import { runSql } from '../support/tenant'
import { auditOf, type Desk, dialogOf, type Hired, hire, sit } from './key-desk'
import { withoutDatabase } from './outage'

const ADMIN = { email: 'first@example.com', password: 'the password of the first admin' }

let site: Site
let browser: Browser
let desk: Desk
let page: Page
let mara: Hired

beforeAll(async () => {
  ;[site, browser] = await Promise.all([
    openSite({ ...QUICK_PROVIDER, ADMIN_EMAIL: ADMIN.email, ADMIN_PASSWORD: ADMIN.password }),
    openBrowser(),
  ])
  mara = await hire(site.url, 'operator', 'Mara Lindqvist')
  desk = await sit(browser, site.url, ADMIN)
  page = desk.page
})
afterAll(async () => {
  await browser?.close()
  await site?.close()
})

const sql = <Row = Record<string, unknown>>(text: string, values: unknown[] = []) =>
  runSql<Row>(site.databaseUrl, text, values)
const rowOf = (name: string, on: Page = page): Locator =>
  on.getByRole('table', { name: 'People' }).getByRole('row', { name: new RegExp(name) })

/** On the page that people use, in a browser of their own. */
async function tryToSignIn({ email, password }: Person): Promise<Page> {
  const login = await (await stranger(browser, site.url)).newPage()
  await login.goto('/login')
  await login.getByLabel('Email').fill(email)
  await login.getByLabel('Password').fill(password)
  await login.getByRole('button', { name: 'Sign in' }).click()
  return login
}

async function choose(name: string, deed: string): Promise<Locator> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: deed }).click()
  await expect(dialogOf(page).getByRole('button', { name: 'Cancel' })).toBeFocused()
  return dialogOf(page)
}

test('the operators page lists people with role, e-mail and last sign-in, and warns when there is only one admin', async () => {
  await page.goto('/operators')
  await expect(page.getByRole('heading', { level: 1, name: 'Operators' })).toBeVisible()
  await expect(page.getByRole('main').getByText('2 people can sign in. Only one is an admin')).toBeVisible()
  await expect(rowOf('Mara Lindqvist')).toContainText('operator')
  await expect(rowOf('Mara Lindqvist')).toContainText(mara.email)
  await expect(rowOf('Mara Lindqvist')).toContainText('never')
  await expect(rowOf('first@example.com')).toContainText('ago')
  await expect(page.getByRole('main').getByText('No token yet.')).toBeVisible()
})

test('the operators page adds a person, whose generated password works', async () => {
  await page.goto('/operators')
  await page.getByRole('button', { name: 'Add person' }).click()
  await dialogOf(page).getByLabel('Name').fill('Jonas Okafor')
  await dialogOf(page).getByLabel('E-mail').fill('jonas')
  await dialogOf(page).getByRole('button', { name: 'Add', exact: true }).click()
  await expect(dialogOf(page).getByText('That is no e-mail address.')).toBeVisible()
  await dialogOf(page).getByLabel('E-mail').fill(mara.email)
  await dialogOf(page).getByRole('button', { name: 'Add', exact: true }).click()
  await expect(dialogOf(page).getByText('Another operator has this e-mail address.')).toBeVisible()
  await dialogOf(page).getByLabel('E-mail').fill('jonas@example.com')
  await dialogOf(page)
    .getByRole('radio', { name: /^operator/ })
    .check()
  await dialogOf(page).getByRole('button', { name: 'Add', exact: true }).click()
  const password = await dialogOf(page).getByLabel('Password').inputValue()
  await dialogOf(page).getByRole('button', { name: 'Done' }).click()
  await expect(rowOf('Jonas Okafor')).toContainText('operator')
  expect(await sql('SELECT role FROM operators WHERE email = $1', ['jonas@example.com'])).toEqual([
    { role: 'operator' },
  ])
  const theirs = await tryToSignIn({ email: 'jonas@example.com', password })
  await theirs.waitForURL((at) => at.pathname !== '/login')
  await theirs.context().close()
})

describe('an admin', () => {
  test('changes a role, and the change is in the audit log with its reason', async () => {
    await page.goto('/operators')
    const dialog = await choose('Mara Lindqvist', 'Change role…')
    await dialog.getByRole('radio', { name: /^viewer/ }).check()
    await dialog.getByLabel('Reason').fill('Moved to another team.')
    await dialog.getByRole('button', { name: 'Change role' }).click()
    await expect(rowOf('Mara Lindqvist')).toContainText('viewer')
    expect((await auditOf(site.databaseUrl, mara.id)).at(-1)).toMatchObject({
      action: 'operator.update',
      reason: 'Moved to another team.',
    })
  })

  test('can neither give up the role nor be disabled as the last admin, and sees why in the dialog', async () => {
    await page.goto('/operators')
    const name = (await sql<{ name: string }>('SELECT name FROM operators WHERE email = $1', [ADMIN.email]))[0]!.name
    const role = await choose(name, 'Change role…')
    await role.getByRole('radio', { name: /^viewer/ }).check()
    await role.getByRole('button', { name: 'Change role' }).click()
    await expect(role.getByRole('alert')).toContainText('Without this admin nobody could hand out access any more.')
    await role.getByRole('button', { name: 'Cancel' }).click()
    const disable = await choose(name, 'Disable…')
    await disable.getByRole('button', { name: 'Disable', exact: true }).click()
    await expect(disable.getByRole('alert')).toContainText('Without this admin')
    await disable.getByRole('button', { name: 'Cancel' }).click()
    expect(await sql(`SELECT role FROM operators WHERE email = $1 AND disabled_at IS NULL`, [ADMIN.email])).toEqual([
      { role: 'admin' },
    ])
  })

  test('ends an operator’s sessions, and the operator’s next page asks to sign in', async () => {
    const theirs = await sit(browser, site.url, mara)
    await theirs.page.goto('/tenants')
    await page.goto('/operators')
    const dialog = await choose('Mara Lindqvist', 'End sessions…')
    await expect(dialog).toContainText('On every node at once, their one session ends.')
    await dialog.getByRole('button', { name: 'End sessions' }).click()
    await expect(page.getByText('Mara Lindqvist is signed out everywhere.').first()).toBeVisible()
    await theirs.page.goto('/tenants')
    await expect(theirs.page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await theirs.context.close()
  })

  test('sets an operator’s new password: it works, and the old one does not', async () => {
    await page.goto('/operators')
    const dialog = await choose('Mara Lindqvist', 'New password…')
    await dialog.getByRole('button', { name: 'Set password' }).click()
    const password = await dialogOf(page).getByLabel('Password').inputValue()
    await dialogOf(page).getByRole('button', { name: 'Done' }).click()
    const tried = await tryToSignIn(mara)
    await expect(tried.getByText('That e-mail address and password don’t fit together.')).toBeVisible()
    mara = { ...mara, password }
    await tried.getByLabel('Password').fill(password)
    await tried.getByRole('button', { name: 'Sign in' }).click()
    await tried.waitForURL((at) => at.pathname !== '/login')
    await tried.context().close()
  })

  test('disables an operator and enables them again', async () => {
    await page.goto('/operators')
    const dialog = await choose('Mara Lindqvist', 'Disable…')
    await dialog.getByRole('button', { name: 'Disable', exact: true }).click()
    await expect(rowOf('Mara Lindqvist')).toContainText('disabled')
    const again = await choose('Mara Lindqvist', 'Enable…')
    await again.getByRole('button', { name: 'Enable', exact: true }).click()
    await expect(rowOf('Mara Lindqvist')).not.toContainText('disabled')
    expect(await sql('SELECT disabled_at FROM operators WHERE id = $1', [mara.id])).toEqual([{ disabled_at: null }])
  })
})

test('a token is shown once, works with its role, and is refused after it was revoked', async () => {
  await page.goto('/operators')
  await page.getByRole('button', { name: 'New token' }).click()
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await expect(dialogOf(page).getByText('A token needs a name.')).toBeVisible()
  await dialogOf(page).getByLabel('Name').fill('nightly report')
  await dialogOf(page).getByLabel('Expires').selectOption('in 30 days')
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  const token = await dialogOf(page).getByLabel('Token', { exact: true }).inputValue()
  await page.keyboard.press('Escape')
  await expect(dialogOf(page).getByLabel('Token', { exact: true })).toHaveValue(token)
  await dialogOf(page).getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('table', { name: 'Tokens' }).getByRole('row', { name: /nightly report/ })
  await expect(row).toContainText('viewer')
  await expect(row).toContainText('in 29 d')

  const ask = (path: string) => send(`${site.url}${path}`, { headers: { authorization: `Bearer ${token}` } })
  expect((await ask('/api/admin/runs')).status).toBe(200)
  expect((await ask('/api/admin/tenants')).status).toBe(403)
  await row.getByRole('button', { name: 'Revoke nightly report…' }).click()
  await dialogOf(page).getByRole('button', { name: 'Revoke', exact: true }).click()
  await expect(row).toContainText('revoked')
  expect((await ask('/api/admin/runs')).status).toBe(401)
})

test('a token that is handed over ends with its new owner, and the dialog that disables them says so', async () => {
  const jana = await hire(site.url, 'operator', 'Jana Novak')
  await page.goto('/operators')
  await page.getByRole('button', { name: 'New token' }).click()
  await dialogOf(page).getByLabel('Name').fill('weekly export')
  await dialogOf(page).getByRole('button', { name: 'Create' }).click()
  await dialogOf(page).getByRole('button', { name: 'Done' }).click()
  const row = page.getByRole('table', { name: 'Tokens' }).getByRole('row', { name: /weekly export/ })
  await row.getByRole('button', { name: 'Hand weekly export over…' }).click()
  await dialogOf(page).getByLabel('To').selectOption('Jana Novak')
  await dialogOf(page).getByRole('button', { name: 'Hand over' }).click()
  await expect(row).toContainText('Jana Novak')
  const dialog = await choose('Jana Novak', 'Disable…')
  await expect(dialog).toContainText('Their token ends for good.')
  await expect(dialog.getByRole('listitem')).toHaveText('weekly export')
  await dialog.getByRole('button', { name: 'Disable', exact: true }).click()
  await expect(row).toContainText('revoked')
  expect((await auditOf(site.databaseUrl, jana.id)).at(-1)).toMatchObject({ action: 'operator.update' })
})

describe('the account page', () => {
  const change = async (on: Page, current: string, next: string, repeated = next) => {
    await on.getByLabel('Current password').fill(current)
    await on.getByLabel('New password', { exact: true }).fill(next)
    await on.getByLabel('New password, once more').fill(repeated)
    await on.getByRole('button', { name: 'Change password' }).click()
  }

  test('changes one’s own password: other sessions end, this one goes on, and the new password signs in', async () => {
    const olga = await hire(site.url, 'viewer', 'Olga Berg')
    const [here, there] = [await sit(browser, site.url, olga), await sit(browser, site.url, olga)]
    await here.page.goto('/')
    await here.page.getByRole('button', { name: /Olga Berg/ }).click()
    await here.page.getByRole('menuitem', { name: 'Your account' }).click()
    const sessions = here.page.getByRole('table', { name: 'Sessions' })
    await expect(sessions.getByRole('row')).toHaveCount(3)
    await change(here.page, olga.password, 'too short')
    await expect(here.page.getByText('At least 12 characters.', { exact: true })).toBeVisible()
    await change(here.page, olga.password, 'a password of her own', 'another')
    await expect(here.page.getByText('This is not the same.')).toBeVisible()
    await change(here.page, 'a wrong guess', 'a password of her own')
    await expect(here.page.getByText('This is not your password.')).toBeVisible()
    await change(here.page, olga.password, 'a password of her own')
    await expect(here.page.getByText('Password changed.').first()).toBeVisible()
    await expect(sessions.getByRole('row')).toHaveCount(2)
    await there.page.goto('/account')
    await expect(there.page.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    const again = await tryToSignIn({ email: olga.email, password: 'a password of her own' })
    await again.waitForURL((at) => at.pathname !== '/login')
    await here.page.reload()
    await here.page.getByRole('button', { name: 'End the other sessions' }).click()
    await expect(sessions.getByRole('row')).toHaveCount(2)
    await again.goto('/account')
    await expect(again.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    expect(here.complaints).toEqual([])
    for (const seat of [here.context, there.context, again.context()]) await seat.close()
  })

  test.each(LOOKS)('has no axe violation and no overflow: %s, %d px', async (theme, width) => {
    await dress(page, theme, width)
    await page.goto('/account')
    await expect(page.getByRole('table', { name: 'Sessions' })).toBeVisible()
    expect(await violations(page)).toEqual([])
    await expectToFit(page)
  })
})

test('a viewer of the operators page sees names and roles but no e-mail addresses, and can change nothing', async () => {
  const seat = await sit(browser, site.url, await hire(site.url, 'viewer', 'Vera Sol'))
  await seat.page.goto('/operators')
  await expect(
    seat.page.getByRole('main').getByText('You see names and roles. Everything else here takes the role admin'),
  ).toBeVisible()
  await expect(rowOf('Mara Lindqvist', seat.page)).toContainText('viewer')
  // Nothing of it is even sent.
  expect(await seat.page.content()).not.toContain(mara.email)
  for (const name of ['Add person', 'New token']) {
    const off = seat.page.getByRole('button', { name })
    await expect(off).toBeDisabled()
    await off.click({ force: true })
  }
  await expect(dialogOf(seat.page)).toBeHidden()
  await expect(seat.page.getByRole('button', { name: /^Actions for/ })).toHaveCount(0)
  expect(await violations(seat.page)).toEqual([])
  expect(seat.complaints).toEqual([])
  await seat.context.close()
})

test('the operators page says that the database is unreachable, and keeps what was typed', async () => {
  const seat = await sit(browser, site.url, ADMIN)
  await seat.page.goto('/operators')
  await seat.page.getByRole('button', { name: 'Add person' }).click()
  await dialogOf(seat.page).getByLabel('Name').fill('Somebody')
  await dialogOf(seat.page).getByLabel('E-mail').fill('somebody@example.com')
  await withoutDatabase(site, async () => {
    await dialogOf(seat.page).getByRole('button', { name: 'Add', exact: true }).click()
    await expect(dialogOf(seat.page).getByRole('alert')).toContainText('Nobody was added.')
    await expect(dialogOf(seat.page).getByLabel('Name')).toHaveValue('Somebody')
    await seat.page.goto('/operators')
    await expect(seat.page.getByRole('main').getByText('The people can’t be read just now.')).toBeVisible()
    await expect(seat.page.getByRole('main').getByText('The tokens can’t be read just now.')).toBeVisible()
  })
  await seat.context.close()
})

test.each(LOOKS)('the operators page has no axe violation and no overflow: %s, %d px', async (theme, width) => {
  await dress(page, theme, width)
  await page.goto('/operators')
  await expect(page.getByRole('table', { name: 'Tokens' })).toBeVisible()
  expect(await violations(page)).toEqual([])
  await expectToFit(page)
  await page.getByRole('button', { name: 'Add person' }).click()
  await expect(dialogOf(page)).toBeVisible()
  expect(await violations(page)).toEqual([])
})

test('the operators page causes no error in the browser', () => {
  expect(desk.complaints).toEqual([])
})
