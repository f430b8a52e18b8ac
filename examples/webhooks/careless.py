"""A careless receiver on FastAPI: each delivery of an event sends a receipt.

pip install -r requirements.txt, then `hapax run event --subject fastapi-careless` in this folder.
"""

import os

import httpx
import uvicorn
from fastapi import FastAPI, Request

app = FastAPI()


@app.post("/hooks/stripe")
async def receive(request: Request):
    event = await request.json()  # Anyone can send this: the signature is not verified.
    if event["type"] == "charge.succeeded":
        order = event["data"]["object"]["metadata"]["order"]
        mail = {"from": "shop@example.com", "to": "ann@example.com", "subject": f"Receipt for {order}", "text": "Thank you."}
        key = {"Authorization": "Bearer " + os.environ["HAPAX_EMAIL_KEY"]}
        async with httpx.AsyncClient(base_url=os.environ["HAPAX_EMAIL_URL"], headers=key) as client:
            await client.post("/emails", json=mail)  # A failure is not seen, and nobody tries again.
    return {}


uvicorn.run(app, port=int(os.environ["HAPAX_PORT"]))
