// Keeps: two requests have one fingerprint exactly when they mean the same. The version in front names the recipe, so
// a stored fingerprint is never compared with one that was made another way: change anything here, raise it.

import { hash } from 'node:crypto'
import canonicalize from 'canonicalize'

export type FingerprintInput = {
  method: string
  endpoint: string
  params: Record<string, string>
  body: unknown
}

const VERSION = 'v1'

// Misuse rows are for people: past this many differences the answer is "another request altogether".
const MAX_PATHS = 50

export function fingerprint({ method, endpoint, params, body }: FingerprintInput): string {
  return `${VERSION}:${hash('sha256', canonicalJson({ method, endpoint, params, body }), 'hex')}`
}

/** A key's name at the provider: the same for every record of the key, and it does not tell the key. */
export const keyDigestOf = (of: { tenantId: string; endpoint: string; key: string }): string =>
  hash('sha256', canonicalJson([of.tenantId, of.endpoint, of.key]), 'hex')

// RFC 8785. A value that is not JSON is a bug of the caller's, who validates first, and so it throws: hashing a
// stand-in for it would give two different requests one fingerprint. An undefined member is an absent member, which is
// how an optional field leaves validation.
export function canonicalJson(value: unknown): string {
  refuseNonJson(value)
  const text = canonicalize(value)
  if (text === undefined) throw new TypeError('not a JSON value: undefined')
  return text
}

// Where two JSON values differ, by RFC 8785's idea of equal. A path ends at the outermost difference: a member that
// only one side has is one path, not one for each of its leaves. Plain string order, so the list is stable.
export function changedPaths(a: unknown, b: unknown): string[] {
  const paths: string[] = []
  collectChanges('$', a, b, paths)
  return paths.sort().slice(0, MAX_PATHS)
}

function collectChanges(path: string, a: unknown, b: unknown, paths: string[]): void {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (let i = 0; i < Math.max(a.length, b.length); i++) {
      collectMember(`${path}[${i}]`, i < a.length, a[i], i < b.length, b[i], paths)
    }
    return
  }
  if (isObject(a) && isObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      // own members only: "constructor" is a member name like any other
      const left = Object.hasOwn(a, name) ? a[name] : undefined
      const right = Object.hasOwn(b, name) ? b[name] : undefined
      collectMember(path + step(name), left !== undefined, left, right !== undefined, right, paths)
    }
    return
  }
  // === and not Object.is: JSON has one zero
  if (a !== b) paths.push(path)
}

function collectMember(path: string, inA: boolean, a: unknown, inB: boolean, b: unknown, paths: string[]): void {
  if (inA && inB) collectChanges(path, a, b, paths)
  else if (inA !== inB) paths.push(path)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function step(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}

// canonicalize follows JSON.stringify where that is lenient: a Map becomes {}, an undefined element null, a function
// the bare word `undefined`. Each of them makes different values equal.
function refuseNonJson(value: unknown): void {
  if (Array.isArray(value)) {
    for (const element of value) {
      if (element === undefined) throw new TypeError('not a JSON value: undefined in an array')
      refuseNonJson(element)
    }
  } else if (isObject(value)) {
    if (!isPlain(value)) throw new TypeError('not a JSON value: a class instance')
    for (const member of Object.values(value)) if (member !== undefined) refuseNonJson(member)
  } else if (!['string', 'number', 'boolean'].includes(typeof value) && value !== null) {
    throw new TypeError(`not a JSON value: ${typeof value}`)
  }
}

// Not by comparing with Object.prototype: a body that was parsed in another realm (a test runner's, a dev server's) has
// another one.
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
