import { KEY } from '../../../lib/http/openapi-examples'
import { Chapter, ProblemLink, Rows } from '../_parts/chapter'
import { Wire } from '../_parts/wire'
import styles from '../docs.module.css'

const CHOICES: readonly { name: string; good: boolean; why: string }[] = [
  {
    name: 'A random UUID, made when the customer confirms and stored with the purchase',
    good: true,
    why: 'Every try finds the same key, after a crash too, and no other purchase has it.',
  },
  {
    name: 'The id of the purchase with a word for the step, such as checkout-18f3c2a7-charge',
    good: true,
    why: 'Needs no storage of its own. Only where that id never stands for another purchase.',
  },
  {
    name: 'A new key for every try',
    good: false,
    why: 'Every try is then a new order: this is how somebody is charged twice.',
  },
  {
    name: 'A hash of the body',
    good: false,
    why: 'Two orders that are alike and both wanted become one, and a mended body becomes another order.',
  },
  {
    name: 'A time stamp, a counter, the customer’s id',
    good: false,
    why: 'They meet: with another server’s, after a restart, with the customer’s next purchase.',
  },
]

const REFUSED: readonly { name: string; why: string }[] = [
  { name: 'Fewer than 16 or more than 255 characters', why: 'Short keys meet by chance; long ones are no keys.' },
  { name: 'An e-mail address', why: 'Keys end up in logs.' },
  { name: 'A phone number: + and 7–15 digits', why: 'Keys end up in logs.' },
  {
    name: 'A number of 13–19 digits that passes the Luhn check',
    why: 'It may be a card number, and keys end up in logs.',
  },
  {
    name: 'Bare, with a space, a double quote, a comma or a semicolon',
    why: 'It can’t be told from two headers that were joined on the way.',
  },
  {
    name: 'Starting with a double quote, but not exactly one structured-field String',
    why: 'Half a string must never pass for a key. Parameters after it are allowed and ignored.',
  },
]

export const Keys = () => (
  <Chapter id="keys" title="Keys">
    <p>
      Every POST needs an <code>Idempotency-Key</code>. Make one for each thing that is to happen once, store it before
      the first try, and send it with every try. GET, HEAD, OPTIONS, PUT and DELETE never ask for it.
    </p>
    <h3>What makes a good key</h3>
    <Rows
      head={['Key', 'Good or not', 'Why']}
      rows={CHOICES.map(({ name, good, why }) => ({ name, cells: [good ? 'Good' : 'Not good', why] }))}
    />
    <p>
      A key counts for your tenant and one endpoint, so <code>POST /api/orders</code> and{' '}
      <code>POST /api/orders/{'{id}'}/refunds</code> never meet. Where several programs of yours share a tenant, let
      each begin its keys with its own name.
    </p>
    <h3>Quoted and bare</h3>
    <p>
      Both spellings are taken and mean the same key: the quoted String of RFC 8941, and the bare token that Stripe’s
      clients send. The quotes are not part of it: a retry may change from one to the other.
    </p>
    <Wire>{`Idempotency-Key: "${KEY}"\nIdempotency-Key: ${KEY}`}</Wire>
    <p>
      A key has 16 to 255 characters after unquoting: quoted any printable ASCII, where <code>\"</code> and{' '}
      <code>\\</code> stand for a quote and a backslash; bare any visible ASCII without spaces, double quotes, commas
      and semicolons. Answers always have it quoted. To look a key up, put it into the path unquoted and URL-encoded.
    </p>
    <h3>What is refused, and why</h3>
    <Rows head={['Refused', 'Why']} rows={REFUSED.map(({ name, why }) => ({ name, cells: [why] }))} />
    <p className={styles.quiet}>
      All of these get <ProblemLink code="idempotency_key_invalid" />. Checked in this order: authentication, media
      type, size, JSON, header, age, validation, store. What is refused before the work begins leaves no record: the key
      stays free.
    </p>
  </Chapter>
)
