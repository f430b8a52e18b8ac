// The refund agent on Vercel's AI SDK.

import { openai } from "@ai-sdk/openai";
import { ToolLoopAgent } from "ai";
import { list_refunds, refund_charge } from "./payment.mjs";

const agent = new ToolLoopAgent({
  model: openai("gpt-5.2"),
  instructions: "You are the support agent of a shop.",
  tools: { refund_charge, list_refunds },
});
const { text } = await agent.generate({ prompt: process.env.HAPAX_TASK });
console.log(text);
