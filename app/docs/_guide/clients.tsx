import { Chapter, ProblemLink } from '../_parts/chapter'
import { ExampleFile } from '../_parts/example-file'
import { RetrySetUps } from './retry-set-ups'

export const Clients = () => (
  <Chapter id="clients" title="A client that retries">
    <p>
      The rules above, in a shell and in TypeScript. Copy them, or hold your own client against them: the same key and
      the same bytes on every try, <code>Retry-After</code> honoured, exponential delays with a random part, no retry of
      what is final, and an end that says “not known yet” and not “failed”.
    </p>
    <h3 id="curl">With curl</h3>
    <p>
      An answer has <code>Retry-After</code> exactly when the same request may be sent again with the same key: that one
      header is enough for a loop.
    </p>
    <ExampleFile name="until-final.sh" />
    <p>Reading what was made, looking the key up, and giving some of it back:</p>
    <ExampleFile name="refund.sh" />
    <h3 id="typescript">In TypeScript</h3>
    <p>
      <ProblemLink code="idempotency_key_reused" /> is never retried, neither with this key nor with a new one: it is a
      bug of the program that sends it, and only a person can say which of the two requests was meant. The same goes for
      all else that <code>Refused</code> carries, except <ProblemLink code="payment_declined" />, which is an answer
      like any other, and <ProblemLink code="idempotency_key_expired" />, which says where to look.
    </p>
    <ExampleFile name="onceover-client.ts" />
    <p>And how it is used, so that a crash between any two lines of it charges nobody twice:</p>
    <ExampleFile name="pay-for-purchase.ts" />
    <RetrySetUps />
  </Chapter>
)
