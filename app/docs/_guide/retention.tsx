import { DEFAULTS } from '../../../lib/config'
import { Chapter, ProblemLink, Rows } from '../_parts/chapter'
import { span } from '../_parts/spans'
import styles from '../docs.module.css'

export function Retention() {
  const { keyTtlHours, tombstoneHours } = DEFAULTS
  return (
    <Chapter id="retention" title="Retention and expiry">
      <p>
        A key is kept for a while and then forgotten, in three steps. The times are those that a service has unless it
        is set otherwise; your tenant may have a retention of its own, and <code>Idempotency-Expires</code> always tells
        the one that counts.
      </p>
      <Rows
        keepNames
        head={['From', 'What the same request gets', 'How long']}
        rows={[
          {
            name: 'The first request',
            cells: [
              'Its answer, or 409 or 202 while there is none.',
              'Until the outcome is known, however long it takes.',
            ],
          },
          {
            name: 'The final answer',
            cells: [
              'The first answer, byte for byte.',
              `${span(keyTtlHours * 3600)} from the answer on. Where it is proven that nothing was charged, as long from then on for another try.`,
            ],
          },
          {
            name: 'Idempotency-Expires',
            cells: [
              <>
                <ProblemLink code="idempotency_key_expired" />: a tombstone, which still knows what the request made (
                <code>resource</code>) and how it was answered (<code>response.status</code>).
              </>,
              `${span(tombstoneHours * 3600)} at least.`,
            ],
          },
          {
            name: 'The tombstone’s end',
            cells: [
              <strong key="new" className={styles.strong}>
                Nobody knows the key any more: it is a new request, and would be carried out.
              </strong>,
              'For ever.',
            ],
          },
        ]}
      />
      <p>
        An outcome that is not known never expires by itself: as long as it may have charged, the key says so. After a
        410 read <code>resource</code> before anything else; a new key would do the work again.
      </p>
      <p>
        So never send a key that is older than the tombstone. Keep with each key when it was made, and put an end to
        retries well before <code>Idempotency-Expires</code>; what is still open then is looked at, not sent. A service
        can be set to refuse requests whose <code>Date</code> is missing, too old or more than five minutes ahead, with{' '}
        <ProblemLink code="request_too_old" />. Send as <code>Date</code> when the key was made, not when the try is:
        then what is too old to be known is not carried out a second time.
      </p>
    </Chapter>
  )
}
