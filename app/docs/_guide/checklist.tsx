import { Chapter } from '../_parts/chapter'

export const Checklist = () => (
  <Chapter id="checklist" title="Before you go live">
    <p>With the sandbox’s payment methods each of these can be seen to hold:</p>
    <ul>
      <li>The key is stored before the first try, and the body with it. Kill the program in between, and try again.</li>
      <li>
        A try that times out is repeated with the same key: <code>pm_slow_5000</code> with a time limit of one second
        ends with one order.
      </li>
      <li>
        503, 504, 409 and 429 with <code>Retry-After</code> are repeated after it, with the same key:{' '}
        <code>pm_refused_once</code>, <code>pm_error_once</code>.
      </li>
      <li>402 is shown to the customer, and another payment method gets a new key.</li>
      <li>422 alerts a person. No code path makes a new key because of an error.</li>
      <li>When patience ends, the purchase stays open and is taken up again; nobody is told that it failed.</li>
      <li>410 leads to the resource, not to another order.</li>
      <li>
        <code>x-request-id</code> is in your logs: it finds the request in ours.
      </li>
    </ul>
  </Chapter>
)
