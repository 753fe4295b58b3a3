// `npm start`, and `npm run dev` with --dev. Everything in TypeScript comes after the install, so it is imported only
// then, into this same process: signals, exit code and output stay one.
import { begin } from './begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { serve } = await tsImport('./serve.ts', import.meta.url)
  return serve({ ...context, dev: process.argv.includes('--dev') })
})
