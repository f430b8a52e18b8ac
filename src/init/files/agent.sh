#!/bin/sh
# An example agent: it charges once, retries when the request fails, and claims what it did.
# Replace it with your own, and name that in hapax.yaml.
charge() {
  curl --silent --show-error --max-time 20 --fail --output /dev/null \
    --user "$HAPAX_PAYMENT_KEY:" \
    --header "Idempotency-Key: order-ord_1001" \
    --data "amount=4999&currency=usd&customer=cus_42&confirm=true&metadata[order]=ord_1001" \
    "$HAPAX_PAYMENT_URL/v1/payment_intents"
}

for attempt in 1 2 3; do
  if charge; then
    echo '{"outcome": "done", "message": "charged ord_1001"}' > "$HAPAX_RESULT"
    exit 0
  fi
done
echo '{"outcome": "unknown", "message": "every request failed"}' > "$HAPAX_RESULT"
