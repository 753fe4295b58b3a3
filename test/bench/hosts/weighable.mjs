// Preloaded into a node: whoever started it may ask what it weighs, garbage left out.
process.on('message', (message) => {
  if (message !== 'weigh') return
  globalThis.gc()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send({ rss, heapUsed, external })
})
// To listen must not keep it alive.
process.channel?.unref()
