// Readers in a process of their own: each asks for one path after the other on a connection that it keeps, and asks
// again as soon as it has read the answer. Says when each has begun to read, and at the end how often each path got
// which answer.
import http from 'node:http'
import os from 'node:os'

// Other people's readers compute elsewhere: here they must not take the node's processor.
os.setPriority(os.constants.priority.PRIORITY_LOW)
const { url, paths, count, headers } = JSON.parse(process.argv[2])
const agent = new http.Agent({ keepAlive: true, maxSockets: count })
const answers = {}
const reading = new Set()

function note(reader, answer) {
  answers[answer] = (answers[answer] ?? 0) + 1
  if (!reading.has(reader) && reading.add(reader).size === count) process.send('reading')
}

function read(reader, path) {
  return new Promise((resolve) => {
    const fail = (error) => {
      note(reader, `${error.code ?? error} ${path}`)
      resolve()
    }
    const request = http.get(new URL(path, url), { agent, headers }, (response) => {
      note(reader, `${response.statusCode} ${path}`)
      response.on('error', fail).on('end', resolve).resume()
    })
    request.on('error', fail)
  })
}

async function readOn(reader) {
  for (let turn = reader; ; turn++) await read(reader, paths[turn % paths.length])
}

process.on('message', () => process.send(answers, () => process.exit()))
for (let reader = 0; reader < count; reader++) void readOn(reader)
