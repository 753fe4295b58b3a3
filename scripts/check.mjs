// `npm run check`: everything about a change that needs no database, no node and no browser. Stops at the first failure.
import { begin } from './begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { check } = await tsImport('./check.ts', import.meta.url)
  return check(context)
})
