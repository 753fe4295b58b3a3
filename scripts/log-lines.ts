// Every line that a serving node prints is one line of JSON: what Next and Node say of themselves goes where our own
// lines go. A stranger's request that fails as it must is no news at the levels that are printed.
import { format } from 'node:util'
import { log } from '../lib/log'

/** What Next says as an error of a form that was made up, or belongs to the build before. */
const STRANGERS = /Failed to find Server Action|Invalid Server Actions request|The Server Reference ID did not match/
/** Without the marks and colours that are for a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const FOR_TERMINALS = /\u001b\[\d+m|^\s*[⨯⚠✓▲○] */g
const LEVELS = { error: 'error', warn: 'warn', info: 'info', log: 'info', debug: 'debug', trace: 'debug' } as const

interface Said {
  level: (typeof LEVELS)[keyof typeof LEVELS]
  message: string
  err?: Error
}

export interface LogLines {
  /** What was said so far, for a start that fails. */
  held(): string
  /** Logs it, and from now on whatever is said. */
  open(): void
}

/** From now on the console writes nothing by itself. */
export function takeOverConsole(): LogLines {
  const held: Said[] = []
  let write = (said: Said): void => void held.push(said)
  for (const [method, level] of Object.entries(LEVELS))
    console[method as keyof typeof LEVELS] = (...words: unknown[]) => {
      const err = words.find((word) => word instanceof Error)
      const message = format(...words.filter((word) => word !== err)).replace(FOR_TERMINALS, '')
      write({ level, message: message.trim() || (err?.message ?? ''), err })
    }
  process.removeAllListeners('warning')
  process.on('warning', (err) => write({ level: 'warn', message: err.message, err }))
  return {
    held: () => held.map(({ message, err }) => err?.stack ?? message).join('\n'),
    open() {
      write = ({ level, message, err }) =>
        log()[STRANGERS.test(err?.message ?? message) ? 'debug' : level]({ err }, message)
      for (const said of held.splice(0)) write(said)
    },
  }
}
