import { openai } from "@ai-sdk/openai";
import { ToolLoopAgent, tool } from "ai";
import Stripe from "stripe";
import { z } from "zod";

const stripe = new Stripe(process.env.STRIPE_API_KEY!);

const agent = new ToolLoopAgent({
  model: openai("gpt-5.2"),
  instructions: "You are a billing agent.",
  tools: {
    charge_customer: tool({
      description: "Charge a customer for an order. The amount is in cents.",
      inputSchema: z.object({ customer: z.string(), amount: z.number().int(), currency: z.string(), order: z.string() }),
      execute: async ({ order, ...charge }) => {
        const { id } = await stripe.charges.create({ ...charge, metadata: { order } });
        return `charged: ${id}`;
      },
    }),
  },
});

const { text } = await agent.generate({ prompt: process.env.HAPAX_TASK! });
console.log(text);
