// The front door until the operator console is there: what this is, and the first request to paste.
import type { Metadata } from 'next'
import { headers } from 'next/headers'
import Link from 'next/link'
import button from './_components/button.module.css'
import { CopyButton } from './_components/copy-button'
import { Frame } from './_components/frame'
import styles from './_components/start.module.css'
import { WhatARetryGets } from './_components/what-a-retry-gets'
import { Wire } from './_components/wire'

export const metadata: Metadata = { title: { absolute: 'Onceover' } }

export default async function Start() {
  const curl = firstRequest(originOf(await headers()))
  return (
    <Frame current="/" trail={[{ label: 'Start' }]}>
      <h1>A payment request that is sent twice is carried out once.</h1>
      <p className={styles.lead}>
        Onceover is an idempotency layer for payment APIs. The first request with a key does the work; every retry gets
        its answer, and nothing is charged again.
      </p>
      <div className={styles.columns}>
        <section aria-labelledby="curl">
          <h2 id="curl">With curl</h2>
          <p className={styles.quiet}>Send it twice: the second answer is the first one, byte for byte.</p>
          <Wire>
            {curl}
            {'\n\n'}
            <span className={styles.quiet}>the second time:</span>
            {'\nHTTP/1.1 201 Created\n'}
            <strong>Idempotent-Replayed: true</strong>
          </Wire>
          <div className={styles.beside}>
            <CopyButton text={curl} />
            <p className={styles.quiet}>
              <code>$ONCEOVER_API_KEY</code> is the API key of tenant demo, printed at the first start.
            </p>
          </div>
        </section>
        <section aria-labelledby="release">
          <h2 id="release">In this release</h2>
          <p className={styles.quiet}>The client API. The console for people comes later.</p>
          <dl className={styles.facts}>
            <div>
              <dt>Orders and refunds with keys</dt>
              <dd>
                <Link href="/docs">API reference</Link>
              </dd>
            </div>
            <div>
              <dt>Description for machines</dt>
              <dd>
                <a href="/api/openapi.json">OpenAPI 3.1</a>
              </dd>
            </div>
            <div>
              <dt>Payment provider</dt>
              <dd>
                <Link href="/docs#sandbox">Sandbox, embedded</Link>
              </dd>
            </div>
            <div>
              <dt>Operator console</dt>
              <dd>not in this release</dd>
            </div>
          </dl>
          <Link className={`${button.button} ${button.primary}`} href="/docs">
            Read the API reference
          </Link>
        </section>
      </div>
      <section aria-labelledby="retry">
        <div className={styles.head}>
          <h2 id="retry">What a retry gets</h2>
          <p className={styles.quiet}>The same key with another request gets 422 in every state.</p>
        </div>
        <WhatARetryGets />
      </section>
    </Frame>
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
