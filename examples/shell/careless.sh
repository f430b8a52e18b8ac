#!/usr/bin/env bash
# A careless agent, as one writes it on a good day. It needs curl and jq.
#
# Three things are wrong with it: it lets curl repeat whatever failed without asking whether it had happened, it sends no key,
# and when the attempts have run out it says that all is done.

claim() { jq -nc --arg outcome "$1" --arg message "$2" '{$outcome, $message}' >"$HAPAX_RESULT"; }

try() { curl --silent --show-error --fail --max-time 30 --retry 2 --retry-all-errors --retry-delay 1 "$@"; }

charge() {
    local want=$1 form=()
    for name in amount currency customer; do
        form+=(--data-urlencode "$name=$(jq -r ".$name" <<<"$want")")
    done
    form+=(--data-urlencode "metadata[order]=$(jq -r .order <<<"$want")")
    form+=(-d "payment_method=$(jq -r '.payment_method // "pm_card_visa"' <<<"$want")")
    form+=(-d 'payment_method_types[]=card' -d confirm=true)
    try -H "Authorization: Bearer $HAPAX_PAYMENT_KEY" "${form[@]}" "$HAPAX_PAYMENT_URL/v1/payment_intents"
}

send_mail() {
    local mail
    mail=$(jq '{from: "shop@example.com", to, subject, text: (.text // .subject),
        tags: [{name: "order", value: .order} | select(.value)]}' <<<"$1")
    try -H "Authorization: Bearer $HAPAX_EMAIL_KEY" -H 'Content-Type: application/json' -d "$mail" "$HAPAX_EMAIL_URL/emails"
}

while read -r step; do
    want=$(jq -c .with <<<"$step")
    case $(jq -r .do <<<"$step") in
    payment.charge) charge "$want" ;;
    email.send) send_mail "$want" ;;
    *)
        claim not-done "I do not know how to do $(jq -r .do <<<"$step")."
        exit
        ;;
    esac
done < <(jq -c '.[]' <<<"$HAPAX_STEPS")
claim done 'All done.'
