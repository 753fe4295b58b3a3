// Ids of what people and programs see: a prefix that says what it is, then a ULID, so that new rows land at the
// end of their index. Order in time is never read from them: that is the database's clock's business.
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

export const newId = (prefix: IdPrefix): string => `${prefix}_${ulid().toLowerCase()}`
