// The refund agent on Vercel's AI SDK.

import { openai } from "@ai-sdk/openai";
import { ToolLoopAgent, tool } from "ai";
import { z } from "zod";

const url = process.env.HAPAX_PAYMENT_URL ?? "https://api.stripe.com";
const headers = { Authorization: `Bearer ${process.env.HAPAX_PAYMENT_KEY}` };

async function call(path, options) {
  const answer = await fetch(url + path, { headers, ...options });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText} for ${path}`);
  return answer.json();
}

async function findCharge(order) {
  const charges = await call("/v1/charges?limit=100");
  return charges.data.find((charge) => charge.metadata.order === order).id;
}

const order = z.string().describe("The id of the order.");
const amount = z.number().int().describe("The amount in cents.");

const refund_charge = tool({
  description: "Refund the charge of an order.",
  inputSchema: z.object({ order, amount }),
  execute: async ({ order, amount }) => {
    const form = { charge: await findCharge(order), amount, "metadata[order]": order };
    return call("/v1/refunds", { method: "POST", body: new URLSearchParams(form) });
  },
});

const list_refunds = tool({
  description: "List the refunds of an order.",
  inputSchema: z.object({ order }),
  execute: async ({ order }) => (await call(`/v1/refunds?charge=${await findCharge(order)}`)).data,
});

const agent = new ToolLoopAgent({
  model: openai("gpt-5.2"),
  instructions: "You are the support agent of a shop.",
  tools: { refund_charge, list_refunds },
});
const { text } = await agent.generate({ prompt: process.env.HAPAX_TASK });
console.log(text);
