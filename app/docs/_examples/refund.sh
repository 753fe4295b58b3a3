# Where the order can be read, from the answer that until_final has saved.
LOCATION=$(sed -n 's/^[Ll]ocation: *//p' headers.txt | tr -d '\r')
AUTHORIZATION="Authorization: Bearer $ONCEOVER_API_KEY"

# The order as it is now; orders, newest first; what became of the key.
curl -sS -w '\n' "$ONCEOVER_URL$LOCATION" -H "$AUTHORIZATION"
curl -sS -w '\n' "$ONCEOVER_URL/api/orders?limit=10" -H "$AUTHORIZATION"
curl -sS -w '\n' "$ONCEOVER_URL/api/idempotency-keys/$KEY" -H "$AUTHORIZATION"

# A refund is something new that is to happen once, so it has a key of its own.
REFUND_KEY=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
curl -sS -i -w '\n' "$ONCEOVER_URL$LOCATION/refunds" -H "$AUTHORIZATION" \
  -H "Idempotency-Key: \"$REFUND_KEY\"" -H 'Content-Type: application/json' \
  -d '{ "amountCents": 500, "reason": "one of two came broken" }'
