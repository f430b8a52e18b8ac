#!/usr/bin/env bash
# curl: makes a payment (`payment`) or increments a counter (`records`), and reads it back. Further arguments are given
# to curl for the write: --retry 2, a header.
set -euo pipefail

service=$1
shift

ask() { curl --silent --max-time 30 "$@"; }

# How often a pattern occurs in the answer.
occurrences() { grep -o "$1" | wc -l; }

# Set where the client calls the real host of the service.
if [ -n "${REAL_HOSTS-}" ]; then
    HAPAX_PAYMENT_URL=https://api.stripe.com
    HAPAX_PAYMENT_KEY=key_of_its_own
fi

case $service in
payment)
    intents=$HAPAX_PAYMENT_URL/v1/payment_intents
    user=$HAPAX_PAYMENT_KEY:
    write() {
        ask --fail-with-body --user "$user" "$@" "$intents" -d amount=4999 -d currency=usd -d customer=cus_42 \
            -d payment_method=pm_card_visa -d 'payment_method_types[]=card' -d confirm=true -d 'metadata[order]=o1'
    }
    id_in() { grep -o '"pi_[A-Za-z0-9]*"' | head -n 1; }
    get() { [ "$(ask --user "$user" -o /dev/null -w '%{http_code}' "$intents/$1")" = 200 ] && echo true || echo false; }
    count() {
        ask --fail --user "$user" --get "$intents/search" --data-urlencode "query=metadata['order']:'o1'" |
            occurrences '"object": *"payment_intent"'
    }
    ;;
records)
    counter=$HAPAX_RECORDS_URL/counters/orders
    bearer="Authorization: Bearer $HAPAX_RECORDS_KEY"
    write() { ask --fail-with-body -H "$bearer" "$@" -X POST "$counter/increment"; }
    # A counter has no id to look for.
    id_in() { :; }
    # Before the first increment there is no counter.
    count() { ask -H "$bearer" "$counter" | sed -n 's/.*"value": *\([0-9]*\).*/\1/p' | grep . || echo 0; }
    ;;
*)
    echo "no such service: $service" >&2
    exit 2
    ;;
esac

if answer=$(write "$@"); then
    id=$(id_in <<<"$answer" || true)
    get=null
    [ -z "$id" ] || get=$(get "${id//\"/}")
    printf '{"write": "ok", "error": null, "id": %s, "get": %s, "read": %s}\n' "${id:-null}" "$get" "$(count)"
else
    printf '{"write": "error", "error": "exit %s", "id": null, "get": null, "read": %s}\n' $? "$(count)"
fi
