// What is the same for every reader, answered from memory: the pages that were rendered at build time, and the files
// that pages load. Next would take a millisecond or more over each, on the event loop that answers orders.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { requestIdFrom } from '../lib/http/request-id'
import { PUBLIC_PAGE_HEADERS } from '../lib/http/security-headers'
import { prerendered } from './public-pages'
import { refuse } from './refusals'

const MEDIA_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}
/** Their names have a hash of their content in them. */
const HASHED = 'public, max-age=31536000, immutable'
const UNHASHED = 'public, max-age=300'
const WORTH_GZIP = 1024

interface StaticFile {
  headers: Record<string, string>
  body: Buffer
  /** Made when it is first asked for; null where it is not worth it. */
  gzipped: Promise<Buffer> | null | undefined
}

/** False where the request is for something else: then nothing was done. */
export type ServeStatic = (request: IncomingMessage, response: ServerResponse) => boolean

export async function openStaticFiles(root: string): Promise<ServeStatic> {
  const files = new Map<string, StaticFile>()
  const add = async (address: string, file: string, headers: Record<string, string>) =>
    void files.set(address, fileOf(await readFile(file), headers))
  const addFile = async (address: string, file: string, cacheControl: string) => {
    const type = MEDIA_TYPES[path.extname(file)]
    const headers = { 'x-content-type-options': 'nosniff', 'cache-control': cacheControl }
    if (type) await add(address, file, { ...headers, 'content-type': type })
  }

  const pages = path.join(root, '.next', 'server', 'app')
  for (const name of await prerendered(pages)) {
    const file = path.join(pages, name)
    if (!(await isPage(file))) continue
    await add(`/${addressOf(name)}`, file, { ...PUBLIC_PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' })
  }
  const built = path.join(root, '.next', 'static')
  for (const name of await filesIn(built)) await addFile(`/_next/static/${name}`, path.join(built, name), HASHED)
  const open = path.join(root, 'public')
  for (const name of await filesIn(open)) await addFile(`/${name}`, path.join(open, name), UNHASHED)
  for (const address of ['/icon.svg', '/favicon.ico'])
    await addFile(address, path.join(root, 'app', 'icon.svg'), UNHASHED)

  return (request, response) => {
    // With this header, Next's own scripts ask for a page in another form.
    if (request.headers.rsc) return false
    const [address = ''] = request.url!.split('?')
    const file = files.get(address)
    if (!file) return false
    if (request.method === 'GET' || request.method === 'HEAD') void answer(file, request, response)
    else refuse(request, response, 'method_not_allowed', { allow: 'GET, HEAD' })
    return true
  }
}

/** A redirect is stored as a page with a status of its own, and is Next's to send. */
async function isPage(file: string): Promise<boolean> {
  if (path.basename(file).startsWith('_')) return false
  const meta = await readFile(file.replace(/\.html$/, '.meta'), 'utf8').catch(() => '{}')
  return JSON.parse(meta).status === undefined
}

const addressOf = (name: string): string => name.replace(/\.html$/, '').replaceAll(path.sep, '/')

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
}

function fileOf(body: Buffer, headers: Record<string, string>): StaticFile {
  const isText = headers['content-type'] !== MEDIA_TYPES['.woff2']
  const etag = `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`
  return {
    headers: { ...headers, etag, vary: 'accept-encoding' },
    body,
    gzipped: isText && body.length >= WORTH_GZIP ? undefined : null,
  }
}

async function answer(file: StaticFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers: Record<string, string> = {
    ...file.headers,
    'x-request-id': requestIdFrom(String(request.headers['x-request-id'] ?? '')),
  }
  if (request.headers['if-none-match'] === headers.etag) return void response.writeHead(304, headers).end()
  let { body } = file
  if (file.gzipped !== null && acceptsGzip(request)) {
    file.gzipped ??= promisify(gzip)(body, { level: 9 })
    body = await file.gzipped
    headers['content-encoding'] = 'gzip'
  }
  headers['content-length'] = String(body.length)
  response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : body)
}

const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(headers['accept-encoding'] ?? ''))
