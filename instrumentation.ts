// Next calls this once before a server takes its first request.
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { startNode } = await import('./lib/node/start')
  const { KEYED_ROUTES } = await import('./app/api/keyed-routes')
  await startNode(KEYED_ROUTES)
}
