// Pages that are rendered at build time work without scripts. Next writes its own into them all the same, with
// everything that the page says a second time; and its inline scripts are others on each page, so the policy would have
// to allow any. This removes them from the build, whichever server serves it.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { THEME_SCRIPT } from '../lib/http/security-headers'

const SCRIPT = /<script\b[^>]*>([\s\S]*?)<\/script>/g
const PRELOADED_SCRIPT = /<link\b(?=[^>]*\bas="script")[^>]*>/g
/** What React puts between two texts that it may have to change. */
const MARK = /<!--(?:\/?\$[!?]?| )?-->/g

export const withoutScripts = (html: string): string =>
  html
    .replace(SCRIPT, (script, text) => (text === THEME_SCRIPT ? script : ''))
    .replace(PRELOADED_SCRIPT, '')
    .replace(MARK, '')

/** By the path below the folder, with its ending. */
export const prerendered = async (pages: string): Promise<string[]> =>
  (await readdir(pages, { recursive: true })).filter((name) => name.endsWith('.html'))

export async function removeScripts(root: string): Promise<void> {
  const pages = path.join(root, '.next', 'server', 'app')
  for (const name of await prerendered(pages)) {
    const file = path.join(pages, name)
    await writeFile(file, withoutScripts(await readFile(file, 'utf8')))
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await removeScripts(process.cwd())
