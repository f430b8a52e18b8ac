#!/bin/sh
# An example agent: it makes every charge that the task asks for, and claims what it did. It needs curl.
# A language model would read HAPAX_TASK; this agent reads the same task as JSON, in HAPAX_STEPS.
# Replace it with your own, and name that in hapax.yaml.

request() {
  curl --silent --max-time 20 --user "$HAPAX_PAYMENT_KEY:" "$@"
}

# The value of a field in the JSON of $step.
field() {
  printf '%s' "$step" | sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p"
}

claim() {
  printf '{"outcome": "%s", "message": "%s"}\n' "$1" "$2" > "$HAPAX_RESULT"
  exit 0
}

is_charged() {
  request "$HAPAX_PAYMENT_URL/v1/payment_intents?customer=$customer&limit=100" |
    grep -q "\"order\": *\"$order\""
}

# Prints the status of the answer. Every attempt sends the same key, which is derived from the order.
charge() {
  request --output /dev/null --write-out '%{http_code}' --header "Idempotency-Key: charge-$order" \
    --data "amount=$(field amount)&currency=$(field currency)&customer=$customer" \
    --data "confirm=true&metadata[order]=$order" "$HAPAX_PAYMENT_URL/v1/payment_intents"
}

# Looks before each attempt: a request that failed can have charged the customer.
charge_once() {
  for attempt in 1 2 3; do
    if is_charged; then return; fi
    case $(charge) in
      200) ;;
      402) claim not-done "the card was declined" ;;
      *) sleep 2 ;;
    esac
  done
  is_charged || claim unknown "no request for $order succeeded"
}

steps=$(printf '%s' "$HAPAX_STEPS" | sed 's/},{"do"/}\
{"do"/g')
while read -r step; do
  case $step in
    *'"do":"payment.charge"'*) ;;
    *) claim not-done "this agent can only charge" ;;
  esac
  customer=$(field customer)
  order=$(field order)
  charge_once
done <<END
$steps
END
claim done "charged"
