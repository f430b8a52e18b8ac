// The tools of the agents in JavaScript: plain functions that call Stripe's API, as one writes them first.

import { tool } from "ai";
import { z } from "zod";

const url = process.env.HAPAX_PAYMENT_URL ?? "https://api.stripe.com";
const headers = { Authorization: `Bearer ${process.env.HAPAX_PAYMENT_KEY}` };

async function call(path, options) {
  const answer = await fetch(url + path, { headers, ...options });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText} for ${path}`);
  return answer.json();
}

const post = (path, form) => call(path, { method: "POST", body: new URLSearchParams(form) });

async function findCharge(order) {
  const charges = await call("/v1/charges?limit=100");
  return charges.data.find((charge) => charge.metadata.order === order).id;
}

const order = z.string().describe("The id of the order.");
const amount = z.number().int().describe("The amount in cents.");
const customer = z.string().describe("The id of the customer.");
const currency = z.string().describe("The currency, such as usd.");

export const refund_charge = tool({
  description: "Refund the charge of an order.",
  inputSchema: z.object({ order, amount }),
  execute: async ({ order, amount }) =>
    post("/v1/refunds", { charge: await findCharge(order), amount, "metadata[order]": order }),
});

export const list_refunds = tool({
  description: "List the refunds of an order.",
  inputSchema: z.object({ order }),
  execute: async ({ order }) => (await call(`/v1/refunds?charge=${await findCharge(order)}`)).data,
});

export const charge_customer = tool({
  description: "Charge a customer for an order.",
  inputSchema: z.object({ customer, order, amount, currency }),
  execute: ({ customer, order, amount, currency }) =>
    post("/v1/charges", { customer, amount, currency, "metadata[order]": order }),
});
