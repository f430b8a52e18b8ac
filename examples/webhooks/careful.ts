// A careful receiver on Hono: one receipt for each payment, however often its event comes.
//
// 1. The signature is verified before anything else.
// 2. The key of the mail comes from the charge: it is the same in every copy, every worker and every restart.
// 3. The answer is a 2xx only when the mail was sent. Any other answer makes the sender deliver again.
// 4. It drops nothing because of a header that says "retry": the first copy may never have arrived.
//
// npm install, then `hapax run event --subject hono-careful` in this folder.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import Stripe from "stripe";

const ATTEMPTS = 3;
const env = process.env as Record<string, string>;
const stripe = new Stripe("sk_test_unused");
const app = new Hono();

app.post("/hooks/stripe", async (context) => {
  let event;
  try {
    const signature = context.req.header("stripe-signature") ?? "";
    event = stripe.webhooks.constructEvent(await context.req.text(), signature, env.STRIPE_WEBHOOK_SECRET);
  } catch {
    return context.text("the signature is wrong", 400);
  }
  if (event.type !== "charge.succeeded" || (await sendReceipt(event.data.object))) return context.json({});
  return context.text("the receipt was not sent: deliver the event again", 503);
});

async function sendReceipt(charge: { id: string; metadata: Record<string, string> }): Promise<boolean> {
  const subject = `Receipt for ${charge.metadata.order}`;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      const answer = await fetch(`${env.HAPAX_EMAIL_URL}/emails`, {
        method: "POST",
        headers: {
          Authorization: `Bearer ${env.HAPAX_EMAIL_KEY}`,
          "Content-Type": "application/json",
          "Idempotency-Key": `receipt-${charge.id}`,
        },
        body: JSON.stringify({ from: "shop@example.com", to: "ann@example.com", subject, text: "Thank you." }),
      });
      if (answer.ok) return true;
    } catch {
      // It may have been sent: the key makes the next attempt harmless.
    }
  }
  return false;
}

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(env.HAPAX_PORT) });
