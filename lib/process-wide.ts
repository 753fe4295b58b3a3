// One instance for the whole process. Next bundles pages, routes and instrumentation separately, so a module-level
// variable exists once for each bundle; a pool or a listener must not.
const slot = Symbol.for('onceover.process-wide')
const registry = globalThis as unknown as Record<symbol, Map<string, unknown> | undefined>
registry[slot] ??= new Map()
const instances = registry[slot]

export function processWide<T>(name: string, create: () => T): T {
  const known = instances.get(name)
  if (known !== undefined) return known as T
  const made = create()
  instances.set(name, made)
  return made
}
