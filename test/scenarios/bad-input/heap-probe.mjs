// Preloaded into a node (NODE_OPTIONS=--import): on SIGUSR2 it throws away all that nobody holds, and prints what is
// left. Memory that is merely not collected yet is no leak.
import v8 from 'node:v8'
import vm from 'node:vm'

v8.setFlagsFromString('--expose-gc')
const collect = vm.runInNewContext('gc')

process.on('SIGUSR2', () => {
  collect()
  // What was waiting for its finalizer goes now.
  setImmediate(() => {
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    process.stdout.write(`heap-probe ${JSON.stringify({ heapUsed, external, rss })}\n`)
  })
})
