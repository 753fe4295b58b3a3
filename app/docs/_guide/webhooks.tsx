import { Chapter, ProblemLink } from '../_parts/chapter'

export const Webhooks = () => (
  <Chapter id="webhooks" title="Webhooks">
    <p>
      None are sent to you: to learn of an outcome, wait with <code>Prefer: wait=N</code>, send the same request again,
      or look the key up. <code>POST /api/webhooks/stripe</code> and <code>POST /api/webhooks/sandbox</code> are there
      for the payment provider, whose reports settle what was not known; what is not signed by it gets{' '}
      <ProblemLink code="invalid_signature" />.
    </p>
  </Chapter>
)
