import { Chapter, ProblemLink, Rows } from '../_parts/chapter'

const LIMITS = [
  {
    name: 'New keys a minute',
    cells: ['600,000 unless your tenant is set otherwise', <ProblemLink key="code" code="rate_limited" />],
  },
  {
    name: 'Live keys: all that are not expired',
    cells: ['10,000,000 unless your tenant is set otherwise', <ProblemLink key="code" code="active_key_limit" />],
  },
  { name: 'Look-ups of keys a minute', cells: ['600', <ProblemLink key="code" code="rate_limited" />] },
  { name: 'Size of a body', cells: ['256 KiB', <ProblemLink key="code" code="body_too_large" />] },
  {
    name: 'Items of an order; its total',
    cells: ['100; 2,000,000,000 in the smallest unit', <ProblemLink key="code" code="invalid_request" />],
  },
]

export const Limits = () => (
  <Chapter id="limits" title="Limits">
    <Rows head={['What', 'How much', 'Beyond it']} rows={LIMITS} />
    <p>
      The first two count over all nodes and all API keys of your tenant, and only requests that would make a new
      record: a replay, a 409, a 422 or another try never gets a 429. What gets one was not stored and nothing was
      charged. Wait for <code>Retry-After</code> and send it with the same key, and slow down all that is new, not the
      one request.
    </p>
    <p>
      Look-ups are for people and for accepted requests. To learn the outcome of a request, send it again: once it has a
      record, that is not limited.
    </p>
  </Chapter>
)
