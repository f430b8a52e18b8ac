"""A careful receiver on FastAPI: one receipt for each payment, however often its event comes.

1. The signature is verified before anything else.
2. The key of the mail comes from the charge: it is the same in every copy, every worker and every restart.
3. The answer is a 2xx only when the mail was sent. Any other answer makes the sender deliver again.
4. It drops nothing because of a header that says "retry": the first copy may never have arrived.

pip install -r requirements.txt, then `hapax run event --subject fastapi-careful` in this folder.
"""

import os

import httpx
import stripe
import uvicorn
from fastapi import FastAPI, HTTPException, Request

ATTEMPTS = 3
app = FastAPI()


@app.post("/hooks/stripe")
async def receive(request: Request):
    signature = request.headers.get("stripe-signature", "")
    try:
        event = stripe.Webhook.construct_event(await request.body(), signature, os.environ["STRIPE_WEBHOOK_SECRET"])
    except (ValueError, stripe.SignatureVerificationError):
        raise HTTPException(400, "the signature is wrong")
    if event["type"] == "charge.succeeded":
        await send_receipt(event["data"]["object"])
    return {}


async def send_receipt(charge):
    order = charge["metadata"]["order"]
    mail = {"from": "shop@example.com", "to": "ann@example.com", "subject": f"Receipt for {order}", "text": "Thank you."}
    headers = {"Authorization": "Bearer " + os.environ["HAPAX_EMAIL_KEY"], "Idempotency-Key": "receipt-" + charge["id"]}
    async with httpx.AsyncClient(base_url=os.environ["HAPAX_EMAIL_URL"], headers=headers) as client:
        for _ in range(ATTEMPTS):
            try:
                if (await client.post("/emails", json=mail)).is_success:
                    return
            except httpx.HTTPError:
                pass  # It may have been sent: the key makes the next attempt harmless.
    raise HTTPException(503, "the receipt was not sent: deliver the event again")


uvicorn.run(app, port=int(os.environ["HAPAX_PORT"]))
