// What a person reads after a start: where it is, the secrets that are shown once, and a line to paste.
import type { Config } from '../config'
import type { FirstSecrets } from './bootstrap'

export function welcome(url: string, secrets: FirstSecrets, settings: Pick<Config, 'demoApiKey'>): string {
  const lines = [`\n  Onceover is ready at ${url}\n`]
  if (secrets.apiKey) lines.push(`  API key of tenant demo   ${secrets.apiKey}   (shown once)`)
  if (secrets.admin)
    lines.push(`  First admin              ${secrets.admin.email} / ${secrets.admin.password}   (shown once)`)
  lines.push(
    '',
    secrets.apiKey
      ? '  Send an order; send it again, and the first answer comes back byte for byte:'
      : `  Send an order with ${settings.demoApiKey ? 'your DEMO_API_KEY' : 'the API key that was printed at the first start'}, as ONCEOVER_API_KEY:`,
    '',
    curlLine(url, secrets.apiKey ?? '$ONCEOVER_API_KEY'),
    '',
    `  Console: ${url}   API reference: ${url}/docs\n`,
  )
  return `${lines.join('\n')}\n`
}

const curlLine = (url: string, apiKey: string): string =>
  `  curl -i ${url}/api/orders -H "Authorization: Bearer ${apiKey}" -H 'Idempotency-Key: first-order-0001' ` +
  `-H 'Content-Type: application/json' -d '{"customerId":"cus_1","currency":"USD","paymentMethod":"pm_ok",` +
  `"items":[{"sku":"SKU-1","quantity":2,"unitPriceCents":1250}]}'`
