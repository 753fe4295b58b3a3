// `npm test` and `npm run proof`: set up like `npm start`, then run the parts of test/parts.ts. Arguments select parts by
// name; whatever begins with a dash, and what follows it, goes to Vitest.
import { begin } from './begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { runParts } = await tsImport('./test-run.ts', import.meta.url)
  const [command, ...args] = process.argv.slice(2)
  return runParts({ ...context, command, args })
})
