# KEY was stored before the first try. answer.json has the order (0), or says why not (22).
until curl -sS --fail-with-body -o answer.json --max-time 30 \
  --retry 20 --retry-max-time 300 --retry-connrefused \
  -H "Authorization: Bearer $ONCEOVER_API_KEY" -H "Idempotency-Key: $KEY" \
  -H 'Prefer: wait=20, busy=503' -H 'Content-Type: application/json' \
  -d "$ORDER" "$ONCEOVER_URL/api/orders"; do
  # A cut connection is the one thing that curl does not repeat by itself.
  code=$?
  case $code in 18 | 52 | 55 | 56) [ $SECONDS -lt 300 ] && sleep 1 && continue ;; esac
  exit $code
done
