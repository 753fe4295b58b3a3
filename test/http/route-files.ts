// The route files as they stand in the tree: what is audited is what Next would serve, not a list that somebody keeps.
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const APP = path.join(import.meta.dirname, '../../app')

export const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
export type Method = (typeof METHODS)[number]

export interface RouteFile {
  /** As OpenAPI writes it: groups left out, parameters in braces. */
  path: string
  handlers: Partial<Record<Method, unknown>>
}

export async function routeFiles(): Promise<RouteFile[]> {
  const files = readdirSync(APP, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^route\.(?:[cm]?[jt]s|[jt]sx)$/.test(path.basename(file)),
  )
  return Promise.all(
    files.sort().map(async (file) => {
      const exported = await import(pathToFileURL(path.join(APP, file)).href)
      return {
        path: urlPathOf(path.dirname(file)),
        handlers: Object.fromEntries(METHODS.filter((method) => exported[method]).map((m) => [m, exported[m]])),
      }
    }),
  )
}

function urlPathOf(folder: string): string {
  const segments = folder.split(path.sep).filter((segment) => !/^\(.*\)$/.test(segment))
  return `/${segments.map((segment) => segment.replace(/^\[(?!\.)(.*)\]$/, '{$1}')).join('/')}`
}
