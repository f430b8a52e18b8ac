// Asks the model service with Google's client, streamed and not, and makes the tool calls that it asks for.
// Prints one line of JSON: what the client received.

import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from "@google/genai";

const MODEL = "gemini-2.5-flash";
const TASK = "Charge cus_42 4999 for order ord_1.";
const properties = { customer: { type: Type.STRING }, amount: { type: Type.INTEGER }, order: { type: Type.STRING } };
const declaration = {
  name: "charge_card",
  description: "Charges a customer.",
  parameters: { type: Type.OBJECT, properties, required: Object.keys(properties) },
};
const config = { systemInstruction: "Be brief.", tools: [{ functionDeclarations: [declaration] }] };
const client = (apiKey = process.env.GEMINI_API_KEY) => new GoogleGenAI({ apiKey });

async function work(streamed) {
  const contents = [{ role: "user", parts: [{ text: TASK }] }];
  const ask = async () => {
    const asked = { model: MODEL, contents, config };
    if (!streamed) return [await client().models.generateContent(asked)];
    const answers = [];
    for await (const answer of await client().models.generateContentStream(asked)) answers.push(answer);
    return answers;
  };
  const parts = (answers) => answers.flatMap((answer) => answer.candidates[0].content.parts ?? []);
  const first = await ask();
  const made = parts(first).filter((part) => part.functionCall);
  contents.push({ role: "model", parts: made });
  const results = made.map(({ functionCall: { id, name } }) => ({ functionResponse: { id, name, response: { id: "ch_1" } } }));
  contents.push({ role: "user", parts: results });
  const last = await ask();
  const usage = last.at(-1).usageMetadata;
  return {
    calls: made.map(({ functionCall: { name, args } }) => [name, args]),
    reasons: [first, last].map((answers) => answers.at(-1).candidates[0].finishReason),
    text: parts(last).map((part) => part.text ?? "").join(""),
    usage: usage.totalTokenCount > usage.candidatesTokenCount && usage.candidatesTokenCount > 0,
  };
}

async function forced(mode) {
  const toolConfig = { functionCallingConfig: { mode } };
  const answer = await client().models.generateContent({ model: MODEL, contents: TASK, config: { ...config, toolConfig } });
  return (answer.functionCalls ?? []).map((call) => call.name);
}

async function structured() {
  const responseSchema = {
    type: Type.OBJECT,
    properties: { summary: { type: Type.STRING }, done: { type: Type.BOOLEAN } },
    required: ["summary", "done"],
  };
  const settings = { responseMimeType: "application/json", responseSchema };
  const answer = await client().models.generateContent({ model: MODEL, contents: "Report.", config: settings });
  return JSON.parse(answer.text);
}

async function thoughts() {
  const settings = { thinkingConfig: { includeThoughts: true } };
  const answer = await client().models.generateContent({ model: MODEL, contents: "Hello", config: settings });
  return answer.candidates[0].content.parts.map((part) => part.thought === true);
}

async function failures() {
  const found = [];
  for (const ask of [
    () => client().models.generateContent({ model: "gemini-none", contents: "x" }),
    () => client("wrong").models.generateContent({ model: MODEL, contents: "x" }),
  ]) {
    try {
      await ask();
      found.push("no error");
    } catch (error) {
      found.push(error instanceof ApiError ? error.status : String(error));
    }
  }
  return found;
}

async function models() {
  const names = [];
  for await (const model of await client().models.list()) names.push(model.name);
  return names;
}

console.log(
  JSON.stringify({
    whole: await work(false),
    streamed: await work(true),
    forced: [await forced(FunctionCallingConfigMode.ANY), await forced(FunctionCallingConfigMode.NONE)],
    structured: await structured(),
    thoughts: await thoughts(),
    errors: await failures(),
    models: await models(),
    model: (await client().models.get({ model: MODEL })).name,
    tokens: (await client().models.countTokens({ model: MODEL, contents: "four" })).totalTokens,
  }),
);
