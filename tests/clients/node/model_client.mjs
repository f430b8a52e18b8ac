// Asks the model service with the real clients, streamed and not, and makes the tool calls that it asks for.
// Prints one line of JSON: what each client received. With the name of an API (`chat`, `responses`, `messages`) it asks
// that one once, with the default settings of the client, and prints the text.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const TASK = "Charge cus_42 4999 for order ord_1.";
const properties = { customer: { type: "string" }, amount: { type: "integer" }, order: { type: "string" } };
const schema = { type: "object", properties, required: Object.keys(properties) };
const about = { name: "charge_card", description: "Charges a customer." };
const output = {
  type: "object",
  properties: { summary: { type: "string" }, done: { type: "boolean" } },
  required: ["summary", "done"],
  additionalProperties: false,
};

async function chat(streamed) {
  const client = new OpenAI();
  const tools = [{ type: "function", function: { ...about, parameters: schema } }];
  const messages = [{ role: "user", content: TASK }];
  const asked = { model: "gpt-5.2", messages, tools };
  const ask = () =>
    streamed
      ? client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion()
      : client.chat.completions.create(asked);
  const first = await ask();
  const { content, tool_calls } = first.choices[0].message;
  messages.push({ role: "assistant", content, tool_calls });
  for (const call of tool_calls) messages.push({ role: "tool", tool_call_id: call.id, content: '{"id": "ch_1"}' });
  const last = await ask();
  return {
    calls: tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
    reasons: [first.choices[0].finish_reason, last.choices[0].finish_reason],
    text: last.choices[0].message.content,
    usage: last.usage.total_tokens > last.usage.completion_tokens && last.usage.completion_tokens > 0,
  };
}

async function responses(streamed) {
  const client = new OpenAI();
  const tools = [{ type: "function", ...about, parameters: schema, strict: false }];
  const ask = (more) => {
    const asked = { model: "gpt-5.2", tools, ...more };
    return streamed ? client.responses.stream(asked).finalResponse() : client.responses.create(asked);
  };
  const first = await ask({ input: TASK });
  const calls = first.output.filter((item) => item.type === "function_call");
  const input = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: '{"id": "ch_1"}' }));
  const last = await ask({ input, previous_response_id: first.id });
  return {
    calls: calls.map((call) => [call.name, JSON.parse(call.arguments)]),
    reasons: [first.status, last.status],
    text: last.output_text,
    usage: last.usage.total_tokens > last.usage.output_tokens && last.usage.output_tokens > 0,
  };
}

async function messages(streamed) {
  const client = new Anthropic();
  const tools = [{ ...about, input_schema: schema }];
  const messages = [{ role: "user", content: TASK }];
  const ask = () => {
    const asked = { model: "claude-opus-4-6", max_tokens: 200, messages, tools };
    return streamed ? client.messages.stream(asked).finalMessage() : client.messages.create(asked);
  };
  const first = await ask();
  const calls = first.content.filter((block) => block.type === "tool_use");
  messages.push({ role: "assistant", content: first.content });
  messages.push({
    role: "user",
    content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: '{"id": "ch_1"}' })),
  });
  const last = await ask();
  return {
    calls: calls.map((call) => [call.name, call.input]),
    reasons: [first.stop_reason, last.stop_reason],
    text: last.content[0].text,
    usage: last.usage.input_tokens > 0 && last.usage.output_tokens > 0,
  };
}

async function structured() {
  const user = [{ role: "user", content: "Report." }];
  const chat = await new OpenAI().chat.completions.create({
    model: "gpt-5.2",
    messages: user,
    response_format: { type: "json_schema", json_schema: { name: "report", schema: output } },
  });
  const response = await new OpenAI().responses.create({
    model: "gpt-5.2",
    input: "Report.",
    text: { format: { type: "json_schema", name: "report", schema: output } },
  });
  const message = await new Anthropic().messages.create({
    model: "claude-opus-4-6",
    max_tokens: 200,
    messages: user,
    output_config: { format: { type: "json_schema", schema: output } },
  });
  return [chat.choices[0].message.content, response.output_text, message.content[0].text].map((text) => JSON.parse(text));
}

async function errors() {
  const user = [{ role: "user", content: "x" }];
  const found = [];
  for (const ask of [
    () => new OpenAI().chat.completions.create({ model: "gpt-none", messages: user }),
    () => new OpenAI().responses.create({ model: "gpt-none", input: "x" }),
    () => new Anthropic().messages.create({ model: "claude-none", max_tokens: 9, messages: user }),
    () => new OpenAI().chat.completions.create({ model: "gpt-5.2", messages: [] }),
    () => new Anthropic().messages.create({ model: "claude-opus-4-6", max_tokens: 9, messages: [] }),
    () => new OpenAI({ apiKey: "wrong" }).models.list(),
  ]) {
    try {
      await ask();
      found.push("no error");
    } catch (error) {
      found.push([error.constructor.name, error.code ?? null]);
    }
  }
  return found;
}

async function models() {
  const lists = [];
  for (const client of [new OpenAI(), new Anthropic()]) {
    const names = [];
    for await (const model of client.models.list()) names.push(model.id);
    lists.push(names);
  }
  return lists;
}

async function once(api) {
  const user = [{ role: "user", content: "Hello" }];
  if (api === "chat") {
    const answer = await new OpenAI().chat.completions.create({ model: "gpt-5.2", messages: user });
    return answer.choices[0].message.content;
  }
  if (api === "responses") return (await new OpenAI().responses.create({ model: "gpt-5.2", input: "Hello" })).output_text;
  const asked = { model: "claude-opus-4-6", max_tokens: 9, messages: user };
  return (await new Anthropic().messages.create(asked)).content[0].text;
}

if (process.argv.length > 2) {
  console.log(JSON.stringify(await once(process.argv[2])));
  process.exit(0);
}

const report = {};
for (const [name, ask] of Object.entries({ chat, responses, messages })) {
  report[name] = { whole: await ask(false), streamed: await ask(true) };
}
report.structured = await structured();
report.errors = await errors();
report.models = await models();
console.log(JSON.stringify(report));
