# Sends an order until there is a final answer: KEY is its key, ORDER its body.
# An answer has Retry-After exactly when the same request with the same key may be sent again.
until_final() {
  local try status after
  for try in 0 1 2 3 4 5 6 7; do
    rm -f headers.txt answer.json
    status=$(curl -sS --max-time 30 -D headers.txt -o answer.json -w '%{http_code}' \
      "$ONCEOVER_URL/api/orders" \
      -H "Authorization: Bearer $ONCEOVER_API_KEY" \
      -H "Idempotency-Key: \"$KEY\"" \
      -H 'Prefer: wait=10' \
      -H 'Content-Type: application/json' \
      -d "$ORDER") || status=000
    after=$(sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]*\).*/\1/p' headers.txt 2>/dev/null)
    # 000 is no answer at all, and a proxy may fail without saying when to come back.
    case $status in 000 | 5??) after=${after:-0} ;; esac
    # Final: done (2xx), or refused (4xx), and answer.json says why.
    if [ -z "$after" ]; then echo "$status"; return; fi
    # Not before Retry-After, and then within a time that doubles, up to 32 seconds.
    sleep $((after + RANDOM % (1 << (try < 5 ? try : 5))))
  done
  echo 'not known yet: keep the key'
  return 1
}

KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
ORDER='{ "customerId": "cus_1042", "currency": "USD", "paymentMethod": "pm_refused_once",
  "items": [{ "sku": "SKU-1", "quantity": 2, "unitPriceCents": 1250 }] }'
until_final   # the first try gets 503, the second one 201
