import { webhook } from '../../../../lib/http/webhook'
import { parseSandboxEvent, SANDBOX_SIGNATURE_HEADER } from '../../../../lib/payments/sandbox-webhooks-event'

export const dynamic = 'force-dynamic'

export const POST = webhook({
  gateway: 'sandbox',
  read: async ({ rawBody, headers, nowMs, node }) =>
    parseSandboxEvent(rawBody, headers.get(SANDBOX_SIGNATURE_HEADER), await node.sandboxWebhookSecret(), nowMs),
})
