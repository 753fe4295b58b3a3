import { Chapter, ProblemLink, Rows } from '../_parts/chapter'
import { PAIRS } from './same-request-pairs'

export const SameRequest = () => (
  <Chapter id="same-request" title="What counts as the same request">
    <p>
      A key stands for one request: method, endpoint, the path’s own parameters and the body. They are kept as a
      fingerprint: SHA-256 over their canonical JSON (RFC 8785), made after validation. The same key with another
      fingerprint gets <ProblemLink code="idempotency_key_reused" /> in every state, also when the key has expired.
    </p>
    <Rows
      head={['What differs', 'Request', 'One', 'Other']}
      rows={PAIRS.map(({ name, one, other, same }) => ({
        name,
        cells: [same ? 'The same' : 'Another, 422', <code key="one">{one}</code>, <code key="other">{other}</code>],
      }))}
    />
    <p>
      The order of <code>items</code> counts, as the order of any JSON array does. Headers do not: another{' '}
      <code>Prefer</code>, <code>x-request-id</code>, spelling of the key or API key of the same tenant is still the
      same request. Another order’s id in the path of a refund is another request.
    </p>
    <p>
      So build the body once and keep it with the key. A body that is built anew for each try, with a time stamp, a
      random value or a price that has changed since, is another request, and 422 is how you learn of it.
    </p>
  </Chapter>
)
