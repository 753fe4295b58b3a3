# For bash. ONCEOVER_URL is the address of this service, ONCEOVER_API_KEY your API key.
# One key for one order: random, and stored before the first try.
KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
ORDER='{ "customerId": "cus_1042", "currency": "USD", "paymentMethod": "pm_ok",
  "items": [{ "sku": "SKU-1", "quantity": 2, "unitPriceCents": 1250 }] }'

order() {
  curl -sS -i -w '\n\n' "$ONCEOVER_URL/api/orders" \
    -H "Authorization: Bearer $ONCEOVER_API_KEY" \
    -H "Idempotency-Key: \"$KEY\"" \
    -H 'Content-Type: application/json' \
    -d "$ORDER"
}

order   # 201: the order is placed and paid
order   # the same 201 with Idempotent-Replayed: true; nothing is charged again

ORDER=${ORDER/1250/1300}
order   # 422 idempotency_key_reused: this key stands for the first order
