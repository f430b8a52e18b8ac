#!/usr/bin/env bash
# A careful agent: each charge and each mail exactly once. It needs curl and jq.
#
# 1. The key comes from the order: it is the same for every attempt, every restart and every worker.
# 2. What is meant is written down before it is done, and after a restart it is still what was written down.
# 3. A lost answer, 429 and 5xx prove nothing: it looks before it repeats.
# 4. It waits as long as the service asks, and stops after three attempts.
# 5. It believes a success when it sees what was done, and says `unknown` when it cannot find out.
set -euo pipefail

attempts=3
looks=3                    # A read can lag behind the write: one look that finds nothing proves little.
pause=0.5 longest_pause=60 # Seconds: where the service names none, and what is not waited for.
answer=$(mktemp -d)
trap 'rm -rf "$answer"' EXIT

# One request. Sets `status`, 0 where no whole answer came, and leaves headers and body in files.
call() {
    local url=HAPAX_$1_URL secret=HAPAX_$1_KEY path=$2
    shift 2
    : >"$answer/headers"
    status=$(curl --silent --max-time 30 --dump-header "$answer/headers" --output "$answer/body" --write-out '%{http_code}' \
        --header "Authorization: Bearer ${!secret}" "$@" "${!url}$path") || status=0
    if [[ $status == 2* ]]; then jq -e . "$answer/body" >/dev/null 2>&1 || status=0; fi
}

header() { tr -d '\r' <"$answer/headers" | grep -i "^$1:" | tail -n 1 | sed 's/^[^:]*: *//' || true; }

# What follows is about the step `action` with what it wants, as JSON, in `want`.
field() { jq -r ".$1" <<<"$want"; }

key_of_it() {
    case $action in
    payment.charge) jq -r '"charge-\(.order | @uri)"' <<<"$want" ;;
    # Not the text: a new wording is the same mail.
    email.send) echo "mail-$(jq -c '[.to, .subject, .order]' <<<"$want" | sha256sum | cut -c 1-32)" ;;
    esac
}

send_it() {
    case $action in
    payment.charge)
        call PAYMENT /v1/payment_intents --header "Idempotency-Key: $1" --data confirm=true --data 'payment_method_types[]=card' \
            --data "payment_method=$(jq -r '.payment_method // "pm_card_visa"' <<<"$want")" \
            --data-urlencode "amount=$(field amount)" --data-urlencode "currency=$(field currency)" \
            --data-urlencode "customer=$(field customer)" --data-urlencode "metadata[order]=$(field order)"
        ;;
    email.send)
        jq '{from: "shop@example.com", to, subject, text: (.text // .subject),
            tags: [{name: "order", value: .order} | select(.value)]}' <<<"$want" >"$answer/mail"
        call EMAIL /emails --header "Idempotency-Key: $1" --header 'Content-Type: application/json' --data-binary "@$answer/mail"
        ;;
    esac
}

# Sets `seen`: done, not-done, absent, or unknown where that cannot be found out.
look_once() {
    local ids id rest
    seen=unknown
    case $action in
    payment.charge) # Not the search: it finds new things late.
        call PAYMENT /v1/payment_intents --get --data-urlencode "customer=$(field customer)" --data limit=100
        [ "$status" = 200 ] || return 0
        seen=$(jq -r --argjson want "$want" '
            if any(.data[]; .metadata.order == $want.order and .status == "succeeded") then "done"
            elif .has_more then "unknown" else "absent" end' "$answer/body")
        ;;
    email.send)
        call EMAIL '/emails?limit=100'
        [ "$status" = 200 ] || return 0
        rest=$(jq -r 'if .has_more then "unknown" else "absent" end' "$answer/body")
        ids=$(jq -r --argjson want "$want" '.data[] | select(.to == ([$want.to] | flatten) and .subject == $want.subject).id' \
            "$answer/body")
        for id in $ids; do
            call EMAIL "/emails/$id" # The list does not show the order.
            [ "$status" = 200 ] || return 0
            # On its way is not there yet, and no reason to send it again.
            seen=$(jq -r --argjson want "$want" 'if (.tags | map(.value)) != [$want.order | values] then "other"
                else {delivered: "done", bounced: "not-done"}[.last_event] // "unknown" end' "$answer/body")
            [ "$seen" = other ] || return 0
        done
        seen=$rest
        ;;
    esac
}

look() {
    local left
    for ((left = $1; left > 0; left--)); do
        look_once
        if [ "$seen" = done ] || [ "$seen" = not-done ] || [ "$left" = 1 ]; then return; fi
        sleep $pause
    done
}

# Does it exactly once. Sets `seen` to what came of it: done, not-done or unknown, and `last` to the status of the last answer.
carry_out() {
    local key note attempt asked sent=false
    last=0 key=$(key_of_it)
    note=$HAPAX_STATE_DIR/$key.json
    if [ -e "$note" ]; then sent=true want=$(jq -c .want "$note") key=$(jq -r .key "$note"); fi
    if $sent; then look $looks; else look 1; fi
    for ((attempt = 0; attempt < attempts; attempt++)); do
        if [ "$seen" = done ] || [ "$seen" = not-done ] || { [ "$seen" = unknown ] && $sent; }; then break; fi
        sent=true
        jq -n --argjson want "$want" --arg key "$key" '{$want, $key}' >"$note.draft"
        mv "$note.draft" "$note" # Whole or not at all, should the process die here.
        send_it "$key"
        last=$status
        case $last in
        408 | 409 | 425 | 429) ;;
        4*) seen=not-done && return ;;
        # The service keeps its failure under this key: it would never succeed.
        5*) if [ "$(header Idempotent-Replayed)" = true ]; then key+=-again; fi ;;
        esac
        if [[ $last != 2* ]]; then
            asked=$(header Retry-After)
            [[ $asked =~ ^[0-9]+$ ]] || asked=$pause
            if [ "${asked%.*}" -gt $longest_pause ]; then seen=unknown && return; fi
            sleep "$asked"
        fi
        look $looks
    done
    if [ "$seen" = absent ]; then
        # Said to be done or to be under way, and not to be seen: nobody can tell.
        case $last in 2* | 409) seen=unknown ;; *) seen=not-done ;; esac
    fi
}

outcome='' told=''
steps=$(jq -c '.[]' <<<"$HAPAX_STEPS")
strange=$(jq -r 'map(.do) - ["payment.charge", "email.send"] | join(", ")' <<<"$HAPAX_STEPS")
if [ -n "$strange" ] || [ -z "$steps" ]; then
    outcome=not-done told="I do not know how to do ${strange:-a task without steps}, so I did nothing."
else
    while read -r step; do
        action=$(jq -r .do <<<"$step") want=$(jq -c .with <<<"$step")
        carry_out
        told+="$action: $seen, last answer: ${last/#0/none}. "
        # Some of it done and some not is neither.
        if [ -z "$outcome" ] || [ "$outcome" = "$seen" ]; then outcome=$seen; else outcome=unknown; fi
        [ "$seen" = done ] || break # What follows may depend on it.
    done <<<"$steps"
fi
jq -nc --arg outcome "$outcome" --arg message "${told% }" '{$outcome, $message}' >"$HAPAX_RESULT"
