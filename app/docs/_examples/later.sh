KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
later() {
  curl -sS -i -w '\n\n' "$ONCEOVER_URL/api/orders" \
    -H "Authorization: Bearer $ONCEOVER_API_KEY" \
    -H "Idempotency-Key: \"$KEY\"" \
    -H "Prefer: $1" \
    -H 'Content-Type: application/json' \
    -d '{ "customerId": "cus_1042", "currency": "USD", "paymentMethod": "pm_slow_300",
      "items": [{ "sku": "SKU-1", "quantity": 2, "unitPriceCents": 1250 }] }'
}

later respond-async   # 202 at once: the record, and in Location where to look at it
later wait=10         # the same request fetches the answer: 201 as soon as it is there
