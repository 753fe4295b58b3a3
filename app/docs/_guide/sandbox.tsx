import { Chapter, Rows } from '../_parts/chapter'

const METHODS: readonly { name: string; does: string; gets: string }[] = [
  {
    name: 'pm_ok',
    does: 'Charged, answers at once. So does anything that is not listed here.',
    gets: '201',
  },
  { name: 'pm_declined', does: 'Answers declined.', gets: '402, replayed' },
  {
    name: 'pm_slow_<ms>',
    does: 'Charged at once, answers after so many milliseconds, at most 60,000.',
    gets: '201 then; the same request meanwhile 409, or the answer with Prefer: wait. 504 where it takes longer than the service waits',
  },
  {
    name: 'pm_timeout_charged',
    does: 'Charged, but the answer never comes.',
    gets: '504; 409 until the charge is found; then 201',
  },
  {
    name: 'pm_timeout_lost_once',
    does: 'The first attempt never arrives and times out; later ones succeed.',
    gets: '504; 409 until it is proven that nothing arrived; then it runs again: 201',
  },
  {
    name: 'pm_late_<ms>_once',
    does: 'The first attempt times out, and is charged only so many milliseconds after it was sent; later ones succeed.',
    gets: '504; 409 until the charge is found; then 201',
  },
  {
    name: 'pm_refused_once',
    does: 'The first attempt is refused before anything was sent; later ones succeed.',
    gets: '503; then it runs again: 201',
  },
  {
    name: 'pm_error_once',
    does: 'The first attempt is charged, but the answer is a 500; look-ups find the charge.',
    gets: '504; 409 until the charge is found; then 201',
  },
  {
    name: 'pm_unreachable',
    does: 'Every attempt times out uncharged, and every look-up fails.',
    gets: '504; 409 until an operator decides',
  },
]

export const SandboxMethods = () => (
  <Chapter id="sandbox" title="Sandbox payment methods">
    <p>
      The embedded provider behaves like something on the other side of a network, and <code>paymentMethod</code> picks
      how. For a refund its <code>reason</code> does, such as <code>sandbox:timeout_charged</code>: the same names less
      their <code>pm_</code>. “Once” counts for one key. With another gateway they are payment methods like any other.
    </p>
    <Rows
      keepNames
      head={['paymentMethod', 'What happens', 'What the same request gets, try by try']}
      rows={METHODS.map(({ name, does, gets }) => ({ name, shown: <code>{name}</code>, cells: [does, gets] }))}
    />
  </Chapter>
)
