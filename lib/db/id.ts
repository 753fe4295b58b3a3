// Ids of what people and programs see: a prefix that says what it is, then a ULID, so that new rows land at the
// end of their index. Order in time is never read from them: that is the database's clock's business.
import { randomBytes } from 'node:crypto'
import { encodeTime } from 'ulid'
import { wallMs } from '../wall-clock'

export type IdPrefix =
  | 'idem'
  | 'ord'
  | 'pay'
  | 'ref'
  | 'ten'
  | 'key'
  | 'evd'
  | 'dis'
  | 'opr'
  | 'acc'
  | 'req'
  | 'run'
  | 'mis'
  | 'tok'
  | 'ses'

export const newId = (prefix: IdPrefix): string => idOf(prefix, newUlid())

export const newUlid = (): string => timeText() + randomText()

/** For an id that was reserved before it was known what it will name. */
export const idOf = (prefix: IdPrefix, reserved: string): string => `${prefix}_${reserved}`

/** What an id of this kind looks like. Nothing else can name a row, and no store has to be asked. */
export const isId = (prefix: IdPrefix, text: string): boolean => new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(text)

// Every request makes several, so what they have in common is made once: the characters of one millisecond, and the
// random ones of many ids at a time.
const TIME_LENGTH = 10
const RANDOM_LENGTH = 16
const ALPHABET = Buffer.from('0123456789abcdefghjkmnpqrstvwxyz')
let time = { ms: 0, text: '' }
const RANDOM_IDS = 256
let random = ''
let used = 0

function timeText(): string {
  const ms = wallMs()
  if (ms !== time.ms) time = { ms, text: encodeTime(ms, TIME_LENGTH).toLowerCase() }
  return time.text
}

/** As many characters as five bits have values, so each is equally likely. */
function randomText(): string {
  if (used === random.length) {
    const bytes = randomBytes(RANDOM_IDS * RANDOM_LENGTH)
    for (let i = 0; i < bytes.length; i++) bytes[i] = ALPHABET[bytes[i]! & 31]!
    random = bytes.toString('latin1')
    used = 0
  }
  used += RANDOM_LENGTH
  return random.slice(used - RANDOM_LENGTH, used)
}
