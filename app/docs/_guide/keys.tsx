import Link from 'next/link'
import { KEY } from '../../../lib/http/openapi-examples'
import table from '../_parts/table.module.css'
import { Wire } from '../_parts/wire'
import styles from '../docs.module.css'

const REFUSED: readonly { what: string; why: string }[] = [
  { what: 'Fewer than 16 or more than 255 characters', why: 'Short keys meet by chance; long ones are no keys.' },
  { what: 'An e-mail address', why: 'Keys end up in logs.' },
  { what: 'A phone number: + and 7–15 digits', why: 'Keys end up in logs.' },
  {
    what: 'A number of 13–19 digits that passes the Luhn check',
    why: 'It may be a card number, and keys end up in logs.',
  },
  {
    what: 'Bare, with a space, a double quote, a comma or a semicolon',
    why: 'It can’t be told from two headers that were joined on the way.',
  },
  {
    what: 'Starting with a double quote, but not exactly one structured-field String',
    why: 'Half a string must never pass for a key. Parameters after it are allowed and ignored.',
  },
]

export function Keys() {
  return (
    <section id="keys" className={styles.section} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <p>
        Every POST needs an <code>Idempotency-Key</code>. Make one for each thing that is to happen once, store it
        before the first try, and send it with every try. A random UUID is best. GET, HEAD, OPTIONS, PUT and DELETE
        never ask for it.
      </p>
      <p>
        Both spellings are taken and mean the same key: the quoted String of RFC 8941, and the bare token that Stripe’s
        clients send. A key has 16 to 255 characters after unquoting: quoted any printable ASCII, bare any visible ASCII
        without spaces, double quotes, commas and semicolons.
      </p>
      <Wire>{`Idempotency-Key: "${KEY}"\nIdempotency-Key: ${KEY}`}</Wire>
      <p>
        A key counts for your tenant and one endpoint, so <code>POST /api/orders</code> and{' '}
        <code>POST /api/orders/{'{id}'}/refunds</code> never meet. It stands for one request: method, endpoint, path
        parameters and body. Member order, white space and the spelling of numbers don’t matter; anything that changes
        the meaning does, and gets{' '}
        <Link href="/docs/problems/idempotency_key_reused" prefetch={false}>
          <code>idempotency_key_reused</code>
        </Link>
        .
      </p>
      <p>
        Answers are kept for 24 hours unless the service or your tenant is set otherwise;{' '}
        <code>Idempotency-Expires</code> tells until when. After that the key gets{' '}
        <Link href="/docs/problems/idempotency_key_expired" prefetch={false}>
          <code>idempotency_key_expired</code>
        </Link>
        , with what the first request made. An outcome that is not known never expires by itself.
      </p>
      <h3>What is refused, and why</h3>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">Refused</th>
            <th scope="col">Why</th>
          </tr>
        </thead>
        <tbody>
          {REFUSED.map(({ what, why }) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td className={table.quiet}>{why}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className={styles.quiet}>
        Checked in this order: authentication, media type, size, JSON, header, age, validation, store. What is refused
        before the work begins leaves no record: the key stays free.
      </p>
    </section>
  )
}
