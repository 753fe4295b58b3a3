// Which methods an address of the API has, by the document that describes it: for the 405 of any other method.
import { openApi } from './openapi'

/** Null where there is no such address. */
export type AllowedMethods = (path: string) => readonly string[] | null

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const
/** Payment providers know their own form; the document leaves them out. */
const WEBHOOKS = ['/api/webhooks/sandbox', '/api/webhooks/stripe']

export function openAllowedMethods(): AllowedMethods {
  const documented = Object.entries(openApi.paths ?? {}).map(
    ([path, item]) => [path, METHODS.filter((method) => item[method])] as const,
  )
  const known = [...documented, ...WEBHOOKS.map((path) => [path, ['post']] as const)].map(([path, methods]) => ({
    isLiteral: !path.includes('{'),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}/?$`),
    methods: methods.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()])),
  }))
  // As Next has it: `keys/bulk` is no key.
  known.sort((a, b) => Number(b.isLiteral) - Number(a.isLiteral))
  return (path) => {
    const found = known.find(({ pattern }) => pattern.test(path))
    return found ? [...found.methods, 'OPTIONS'] : null
  }
}
