import { Chapter, Rows } from '../_parts/chapter'
import { ExampleFile } from '../_parts/example-file'

const PREFERENCES = [
  {
    name: 'wait=N',
    cells: [
      'Where the first request still runs, wait up to N seconds (0–30) for its answer and get it as a replay, or 409 when the time is up. If the outcome becomes unknown, it goes on waiting until it is found out or the time is up; a request that finds it unknown gets its 409 at once. If it is proven that nothing was charged, one of those that wait runs it again.',
      'On every try. The first one is not slower for it, and a retry gets the answer instead of a 409.',
    ],
  },
  {
    name: 'respond-async',
    cells: [
      'The request is stored and answered with 202 at once: the record, its Location, and Retry-After. A worker does the rest. Until there is an answer, the same request gets that 202 again, whatever it prefers.',
      'Where nobody waits for the answer: imports, nightly runs, a queue of your own.',
    ],
  },
  {
    name: 'respond-async, wait=N',
    cells: [
      'Accepted the same way, but waits up to N seconds for the answer before it settles for 202.',
      'Where most answers come soon and a few do not.',
    ],
  },
  {
    name: 'busy=503',
    cells: [
      'A request that is still running, or whose outcome is not known yet, is answered 503 in place of 409, with the same code, body and Retry-After.',
      'Where the HTTP client repeats after a 503 by itself and never after a 409.',
    ],
  },
] as const

export const Prefer = () => (
  <Chapter id="prefer" title="Waiting, and answering later">
    <p>
      A keyed POST may say how it would like to be answered, with <code>Prefer</code> (RFC 7240). What was honoured
      comes back in <code>Preference-Applied</code>; what is not understood is ignored. More than 30 seconds are taken
      for 30.
    </p>
    <Rows
      keepNames
      head={['Prefer', 'What it does', 'When to use it']}
      rows={PREFERENCES.map(({ name, cells }) => ({ name, shown: <code>{name}</code>, cells }))}
    />
    <ExampleFile name="later.sh" />
    <p>
      A 202 is a promise, not an outcome: the order exists, nothing may have been charged yet. To fetch the outcome,
      send the same request again; to look without sending, read <code>Location</code>. An accepted request that nobody
      could run within its retention ends as a stored 408, and then nothing was and will be charged.
    </p>
  </Chapter>
)
