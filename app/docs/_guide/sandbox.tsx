import table from '../_parts/table.module.css'
import styles from '../docs.module.css'

const METHODS: readonly { name: string; does: string }[] = [
  { name: 'pm_ok', does: 'Charged, answers at once. So does anything that is not listed here.' },
  { name: 'pm_declined', does: 'Answers declined.' },
  { name: 'pm_slow_<ms>', does: 'Charged at once, answers after so many milliseconds, at most 60,000.' },
  { name: 'pm_timeout_charged', does: 'Charged, but the answer never comes.' },
  { name: 'pm_timeout_lost_once', does: 'The first attempt never arrives and times out; later ones succeed.' },
  {
    name: 'pm_late_<ms>_once',
    does: 'The first attempt times out, and is charged only so many milliseconds after it was sent; later ones succeed.',
  },
  { name: 'pm_refused_once', does: 'The first attempt is refused before anything was sent; later ones succeed.' },
  { name: 'pm_error_once', does: 'The first attempt is charged, but the answer is a 500; look-ups find the charge.' },
  { name: 'pm_unreachable', does: 'Every attempt times out uncharged, and every look-up fails.' },
]

export function SandboxMethods() {
  return (
    <section id="sandbox" className={styles.section} aria-labelledby="sandbox-title">
      <h2 id="sandbox-title">Sandbox payment methods</h2>
      <p>
        The embedded provider behaves like something on the other side of a network, and <code>paymentMethod</code>{' '}
        picks how. For a refund its <code>reason</code> does, such as <code>sandbox:timeout_charged</code>: the same
        names less their <code>pm_</code>.
      </p>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">paymentMethod</th>
            <th scope="col">What happens</th>
          </tr>
        </thead>
        <tbody>
          {METHODS.map(({ name, does }) => (
            <tr key={name}>
              <th scope="row" className={table.keep}>
                <code>{name}</code>
              </th>
              <td>{does}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
