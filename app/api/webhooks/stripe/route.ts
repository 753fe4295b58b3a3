import { webhook } from '../../../../lib/http/webhook'
import { parseStripeEvent } from '../../../../lib/payments/stripe-event'

export const dynamic = 'force-dynamic'

export const POST = webhook({
  gateway: 'stripe',
  async read({ rawBody, headers, nowMs, node }) {
    const parsed = parseStripeEvent(rawBody, headers.get('stripe-signature'), node.config.stripeWebhookSecret!, nowMs)
    return parsed.ok ? { kind: 'genuine', event: parsed.event } : { kind: 'bad_signature' }
  },
})
