// node_modules is what package-lock.json says. There is no stamp of ours: npm writes its own record of what it
// installed last of all, so a half-finished install, a changed lock file and a copied folder all show by comparison.
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { run } from './run.mjs'

export function installNeeded(wanted, installed) {
  if (!installed?.packages) return true
  return Object.entries(wanted.packages).some(([name, { version, link, optional, devOptional }]) => {
    if (name === '' || link) return false
    const found = installed.packages[name]
    // What npm may leave out (another platform's binaries) is compared only where it is there.
    if (!found) return !optional && !devOptional
    return found.version !== version
  })
}

export async function ensureInstalled(root, { say, signal }) {
  const wanted = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'))
  const installed = await readFile(path.join(root, 'node_modules', '.package-lock.json'), 'utf8').then(
    parse,
    () => undefined,
  )
  if (!installNeeded(wanted, installed)) return
  say('Installing dependencies…')
  // --include=dev: the build needs them, whatever NODE_ENV the caller set.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--prefer-offline']
  const options = { cwd: root, signal }
  const npm = process.env.npm_execpath
  if (npm?.endsWith('.js')) await run('npm ci', process.execPath, [npm, ...args], options)
  else await run('npm ci', 'npm', args, { ...options, shell: process.platform === 'win32' })
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
