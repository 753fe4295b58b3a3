// There has never been a key: what to do, and what will be seen here.
import { headers } from 'next/headers'
import { planned, samplePlan } from '../../../lib/traffic/plan'
import { CopyButton } from '../../_ui/copy-button'
import { Verdict } from '../../_ui/section'
import { MapSection } from './map-section'
import { readSetting } from './reads'
import { SendTraffic } from './send-traffic'
import { forbiddenFor } from './traffic'
import { requestsIn, TrafficPlan } from './traffic-plan'
import type { View } from './window'

export async function FirstVisit({ view, running }: { view: View; running: boolean }) {
  const setting = await readSetting()
  return (
    <>
      <Verdict rest="Everything here fills by itself as soon as a client calls the API.">
        No keys yet. Send the first request.
      </Verdict>
      <div className="flex flex-col border-b border-line full:flex-row">
        <WithCurl curl={firstRequest(originOf(await headers()))} />
        {setting.ok && setting.value.isSandbox && (
          <WithSampleTraffic forbidden={forbiddenFor(setting.value.role)} running={running} />
        )}
      </div>
      <MapSection view={view} empty />
    </>
  )
}

function WithCurl({ curl }: { curl: string }) {
  return (
    <section aria-labelledby="with-curl" className="min-w-0 flex-1 py-5 full:pr-8">
      <h2 id="with-curl" className="text-14 font-semibold">
        With curl
      </h2>
      <p className="text-text-2">Send it twice: the second answer is the first one, byte for byte.</p>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="my-3 overflow-x-auto rounded-2 border border-line bg-sunken px-3 py-3 leading-[18px]"
      >
        <span aria-hidden className="text-text-3 select-none">
          ${' '}
        </span>
        {curl}
        {'\n\n'}
        <span className="text-text-2">the second time:</span>
        {'\nHTTP/1.1 201 Created\n'}
        <strong className="font-semibold">Idempotent-Replayed: true</strong>
      </pre>
      <div className="flex flex-wrap items-center gap-3">
        <CopyButton text={curl} />
        <p className="min-w-0 text-text-2">
          <code>$ONCEOVER_API_KEY</code> is the API key of tenant demo. It was printed at the first start.
        </p>
      </div>
    </section>
  )
}

function WithSampleTraffic({ forbidden, running }: { forbidden: string | null; running: boolean }) {
  const plan = planned(samplePlan())
  return (
    <section
      aria-labelledby="with-traffic"
      className="min-w-0 py-5 max-full:border-t max-full:border-line full:w-[418px] full:border-l full:border-line full:pl-8"
    >
      <h2 id="with-traffic" className="text-14 font-semibold">
        With sample traffic
      </h2>
      <p className="mb-2 text-text-2">
        {requestsIn(plan)} real requests through the real API, against the sandbox provider. Takes about a minute.
      </p>
      <TrafficPlan plan={plan} />
      <div className="mt-3 flex flex-wrap items-center gap-3">
        <SendTraffic forbidden={forbidden} running={running} />
        <span className="text-text-2">
          or <code>npm run traffic</code>
        </span>
      </div>
    </section>
  )
}

/** Where the reader reached us, so that the line can be pasted as it is; never anything that a shell could run. */
function originOf(sent: Pick<Headers, 'get'>): string {
  const host = sent.get('x-forwarded-host') ?? sent.get('host') ?? ''
  const scheme = sent.get('x-forwarded-proto') === 'https' ? 'https' : 'http'
  return /^(?:[a-z\d.-]+|\[[a-f\d:]+\])(?::\d+)?$/i.test(host) ? `${scheme}://${host}` : 'http://localhost:3000'
}

const firstRequest = (origin: string): string => `curl -i ${origin}/api/orders \\
    -H "Authorization: Bearer $ONCEOVER_API_KEY" \\
    -H 'Idempotency-Key: first-order-0001' \\
    -H 'Content-Type: application/json' \\
    -d '{ "customerId": "cus_1", "currency": "USD", "paymentMethod": "pm_ok",
          "items": [ { "sku": "SKU-1", "quantity": 2, "unitPriceCents": 1250 } ] }'`
