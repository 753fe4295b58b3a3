// Ids of what people and programs see: a prefix that says what it is, then a ULID, so that new rows land at the
// end of their index. Order in time is never read from them: that is the database's clock's business.
import { randomFillSync } from 'node:crypto'
import { ulid } from 'ulid'

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

export const newUlid = (): string => ulid(undefined, nextRandom).toLowerCase()

/** For an id that was reserved before it was known what it will name. */
export const idOf = (prefix: IdPrefix, reserved: string): string => `${prefix}_${reserved}`

/** What an id of this kind looks like. Nothing else can name a row, and no store has to be asked. */
export const isId = (prefix: IdPrefix, text: string): boolean => new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(text)

// Asked of the system in one go: left to itself, ulid asks once for each of its 16 characters, which took more of an
// order's time than anything else that was ours.
const random = new Uint8Array(4096)
let used = random.length

/** As many steps as a byte has: ulid picks one of 32 characters with it, each equally likely. */
function nextRandom(): number {
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  return random[used++]! / 256
}
