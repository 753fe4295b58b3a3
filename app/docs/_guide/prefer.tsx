import table from '../_parts/table.module.css'
import styles from '../docs.module.css'

export function Prefer() {
  return (
    <section id="prefer" className={styles.section} aria-labelledby="prefer-title">
      <h2 id="prefer-title">Waiting, and answering later</h2>
      <p>
        A keyed POST may say how it would like to be answered, with <code>Prefer</code> (RFC 7240). What was honoured
        comes back in <code>Preference-Applied</code>; what is not understood is ignored.
      </p>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">Prefer</th>
            <th scope="col">What it does</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row" className={table.keep}>
              <code>wait=N</code>
            </th>
            <td>
              Where the first request still runs, wait up to N seconds (0–30) for its answer and get it as a replay, or
              409 when the time is up. If the outcome turns out unknown, 409 comes at once; if it is proven that nothing
              was charged, one of those that wait runs it again.
            </td>
          </tr>
          <tr>
            <th scope="row" className={table.keep}>
              <code>respond-async</code>
            </th>
            <td>
              The request is stored and answered with 202 at once: the record, its <code>Location</code>, and{' '}
              <code>Retry-After</code>. A worker does the rest. Until there is an answer, the same request gets that 202
              again, whatever it prefers.
            </td>
          </tr>
          <tr>
            <th scope="row" className={table.keep}>
              <code>respond-async, wait=N</code>
            </th>
            <td>Accepted the same way, but waits up to N seconds for the answer before it settles for 202.</td>
          </tr>
        </tbody>
      </table>
    </section>
  )
}
