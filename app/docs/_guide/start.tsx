import { Chapter } from '../_parts/chapter'
import { ExampleFile } from '../_parts/example-file'

export const Start = () => (
  <Chapter id="start" title="The first order">
    <p>
      You need the address of this service, an API key and <code>curl</code>. The lines below place an order, send it
      again, and then send something else with the same key. All examples of this page are run as they stand by the
      service’s own tests.
    </p>
    <ExampleFile name="first-order.sh" />
    <p>
      Nothing more is needed for a request to be safe to repeat. What follows is when to repeat it, with which key, and
      for how long.
    </p>
  </Chapter>
)

export const Authentication = () => (
  <Chapter id="authentication" title="Authentication">
    <p>
      Send your API key as <code>Authorization: Bearer</code>. It says who you are: nothing in a body or a path does,
      and what belongs to another tenant is not found. All API keys of a tenant share its idempotency keys. The first
      API key, of tenant demo, was printed at the first start; an admin makes more.
    </p>
    <p>
      An API key is a secret: it belongs on your servers, never in a browser or an app. A missing, mistyped or revoked
      one gets the same 401. A revoked one is dead within 5 seconds, so roll over by making the new one first. While the
      service can’t check a key, it answers 503 and never 401: a 401 is always about the API key.
    </p>
  </Chapter>
)
