// A node as `npm start` serves it, with the step hook handed over. It starts only with NODE_ENV=test.
import { begin } from '../../scripts/begin.mjs'

begin(async (context) => {
  const { tsImport } = await import('tsx/esm/api')
  const { stepHook } = await tsImport('./step-hook.ts', import.meta.url)
  const { serve } = await tsImport('../../scripts/serve.ts', import.meta.url)
  return serve({ ...context, dev: false, step: stepHook() })
})
