// A node as `npm start` serves it, with the step hook handed over. Started with NODE_ENV=production it refuses to start.
import { begin } from '../../scripts/begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { stepHook } = await tsImport('./step-hook.ts', import.meta.url)
  const { serve } = await tsImport('../../scripts/serve.ts', import.meta.url)
  return serve({ ...context, mode: process.env.NODE_ENV, step: stepHook() })
})
