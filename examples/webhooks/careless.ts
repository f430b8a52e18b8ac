// A careless receiver on Hono: each delivery of an event sends a receipt.
//
// npm install, then `hapax run event --subject hono-careless` in this folder.
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const env = process.env as Record<string, string>;
const app = new Hono();

app.post("/hooks/stripe", async (context) => {
  const event = await context.req.json(); // Anyone can send this: the signature is not verified.
  if (event.type === "charge.succeeded") {
    const subject = `Receipt for ${event.data.object.metadata.order}`;
    // A failure is not seen, and nobody tries again.
    await fetch(`${env.HAPAX_EMAIL_URL}/emails`, {
      method: "POST",
      headers: { Authorization: `Bearer ${env.HAPAX_EMAIL_KEY}`, "Content-Type": "application/json" },
      body: JSON.stringify({ from: "shop@example.com", to: "ann@example.com", subject, text: "Thank you." }),
    });
  }
  return context.json({});
});

serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(env.HAPAX_PORT) });
