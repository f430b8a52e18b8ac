# Receives an event and verifies it with the sender's own library. Sends one mail for each event that it accepts.
import json, os, sys, urllib.request

import stripe
from sendgrid.helpers.eventwebhook import EventWebhook, EventWebhookHeader
from slack_sdk.signature import SignatureVerifier
from svix.webhooks import Webhook

event = json.load(open(os.environ["HAPAX_EVENT_FILE"]))
headers, body = event["headers"], event["body"]


def identified():
    """The id of the event, if its signature is right."""
    if "stripe-signature" in headers:
        secret = os.environ["STRIPE_WEBHOOK_SECRET"]
        return stripe.Webhook.construct_event(body, headers["stripe-signature"], secret)["id"]
    if "svix-signature" in headers:
        Webhook(os.environ["RESEND_WEBHOOK_SECRET"]).verify(body, headers)
        return headers["svix-id"]
    if EventWebhookHeader.SIGNATURE.lower() in headers:
        signature, at = [headers[name.lower()] for name in (EventWebhookHeader.SIGNATURE, EventWebhookHeader.TIMESTAMP)]
        if not EventWebhook(os.environ["SENDGRID_WEBHOOK_PUBLIC_KEY"]).verify_signature(body, signature, at):
            raise ValueError("the signature of SendGrid is wrong")
        return json.loads(body)[0]["sg_event_id"]
    if not SignatureVerifier(os.environ["SLACK_SIGNING_SECRET"]).is_valid_request(body, headers):
        raise ValueError("the signature of Slack is wrong")
    return json.loads(body)["event_id"]


try:
    key = identified()
except Exception as error:
    sys.exit(f"rejected: {error!r}")
mail = {"from": "shop@example.com", "to": "ops@example.com", "subject": "Event", "text": "An event came."}
sent = {"Authorization": "Bearer " + os.environ["HAPAX_EMAIL_KEY"], "Content-Type": "application/json"}
url = os.environ["HAPAX_EMAIL_URL"] + "/emails"
urllib.request.urlopen(urllib.request.Request(url, json.dumps(mail).encode(), {**sent, "Idempotency-Key": key}))
