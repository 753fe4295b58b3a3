// What each role may, in a sentence.
import type { Role } from '../../../lib/operators/role'

export const ROLE_WORDS: Record<Role, string> = {
  viewer: 'Sees everything, changes nothing.',
  operator: 'Also acts on keys and runs maintenance.',
  admin: 'Also manages tenants, API keys, operators and tokens.',
}
