// The refund agent on Vercel's AI SDK: the tool needs an approval, and the stored messages continue with the answer.

import { readFileSync, writeFileSync } from "node:fs";
import { openai } from "@ai-sdk/openai";
import { ToolLoopAgent } from "ai";
import { charge_customer, list_refunds, refund_charge } from "./payment.mjs";

const agent = new ToolLoopAgent({
  model: openai("gpt-5.2"),
  instructions: "You are the support agent of a shop.",
  tools: { refund_charge, list_refunds, charge_customer },
  toolApproval: { refund_charge: "user-approval" },
});
const stored = `${process.env.HAPAX_STATE_DIR}/messages.json`;
const answers = JSON.parse(process.env.HAPAX_ANSWER ?? "[]");

const messages = answers.length
  ? JSON.parse(readFileSync(stored, "utf8"))
  : [{ role: "user", content: process.env.HAPAX_TASK }];
if (answers.length) {
  const responses = answers.map(({ id, decision }) => ({
    type: "tool-approval-response",
    approvalId: id,
    approved: decision === "approved",
  }));
  messages.push({ role: "tool", content: responses });
}
const result = await agent.generate({ messages });
writeFileSync(stored, JSON.stringify([...messages, ...result.responseMessages]));

const asked = result.content.filter((part) => part.type === "tool-approval-request");
if (asked.length) {
  const questions = asked.map(({ approvalId, toolCall }) => ({
    id: approvalId,
    operation: "payment.refund",
    fields: toolCall.input,
  }));
  writeFileSync(process.env.HAPAX_RESULT, JSON.stringify({ outcome: "waiting", for: questions }));
} else {
  console.log(result.text);
}
