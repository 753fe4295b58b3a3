// `npm test`: sets up like `npm start`, then runs every test, or those named after `--`.
import { begin } from './begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { test } = await tsImport('./test.ts', import.meta.url)
  return test({ ...context, args: process.argv.slice(2) })
})
