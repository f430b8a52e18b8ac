// Makes one write that is repeated when its reply is lost, each time by another layer. The argument says by which one.
import process from "node:process";

const task = process.env.HAPAX_TASK;
const form = { amount: "4999", currency: "usd", customer: "cus_42", "metadata[order]": "ord_1001" };
const address = () => process.env.HAPAX_PAYMENT_URL + "/v1/charges";
const headers = () => ({ Authorization: `Bearer ${process.env.HAPAX_PAYMENT_KEY}` });

async function charge() {
  const answer = await fetch(address(), { method: "POST", headers: headers(), body: new URLSearchParams(form) });
  if (!answer.ok) throw new Error(`the charge ended with ${answer.status}`);
  return answer.json();
}

async function repeat(call, pause) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === 3) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function axiosCharge(client) {
  return client.post(address(), new URLSearchParams(form), { headers: headers() });
}

async function generate(settings) {
  const { openai } = await import("@ai-sdk/openai");
  const { generateText } = await import("ai");
  await generateText({ model: openai("gpt-5.2"), prompt: task, ...settings });
}

const madeBy = {
  // The client.
  async stripe() {
    const { default: Stripe } = await import("stripe");
    const { hostname: host, port } = new URL(process.env.HAPAX_PAYMENT_URL);
    const stripe = new Stripe(process.env.HAPAX_PAYMENT_KEY, { host, port, protocol: "http" });
    await stripe.charges.create({ amount: 4999, currency: "usd", customer: "cus_42", metadata: { order: "ord_1001" } });
  },
  async stripeWithAKeyOfTheAgent() {
    const { default: Stripe } = await import("stripe");
    const { hostname: host, port } = new URL(process.env.HAPAX_PAYMENT_URL);
    const stripe = new Stripe(process.env.HAPAX_PAYMENT_KEY, { host, port, protocol: "http" });
    const charge = { amount: 4999, currency: "usd", customer: "cus_42", metadata: { order: "ord_1001" } };
    await stripe.charges.create(charge, { idempotencyKey: "ord_1001" });
  },
  async slack() {
    const { WebClient } = await import("@slack/web-api");
    // The service `web` answers, but not like Slack: a success of its own is shown to the client as one of Slack.
    const fetchAsSlack = async (...request) => {
      const answer = await fetch(...request);
      return answer.ok ? Response.json({ ok: true }) : answer;
    };
    const slackApiUrl = process.env.HAPAX_WEB_URL + "/api/";
    const slack = new WebClient(process.env.HAPAX_WEB_KEY, { slackApiUrl, fetch: fetchAsSlack });
    await slack.chat.postMessage({ channel: "C1", text: "ord_1001" });
  },
  async got() {
    const { default: got } = await import("got");
    await got.post(address(), { form, headers: headers(), retry: { limit: 2, methods: ["POST"] } });
  },
  async axiosRetry() {
    const { default: axios } = await import("axios");
    const { default: axiosRetry } = await import("axios-retry");
    const client = axios.create();
    axiosRetry(client, { retries: 3, retryCondition: () => true, retryDelay: axiosRetry.exponentialDelay });
    await axiosCharge(client);
  },
  async octokit() {
    const { Octokit } = await import("octokit");
    const octokit = new Octokit({ auth: process.env.HAPAX_DEPLOY_KEY, baseUrl: process.env.HAPAX_DEPLOY_URL });
    const what = { ref: "v1.4.2", environment: "production", auto_merge: false, required_contexts: [] };
    await octokit.rest.repos.createDeployment({ owner: "shop", repo: "web", ...what });
  },
  async anthropic() {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const messages = [{ role: "user", content: task }];
    await new Anthropic().messages.create({ model: "claude-opus-4-5", max_tokens: 99, messages });
  },
  // The agent's code.
  async pRetry() {
    const { default: pRetry } = await import("p-retry");
    await pRetry(charge, { retries: 3 });
  },
  async loop() {
    await repeat(charge, 0);
  },
  async loopAroundAxios() {
    const { default: axios } = await import("axios");
    await repeat(() => axiosCharge(axios), 1_000);
  },
  async loopAroundAiSdk() {
    await repeat(() => generate({ maxRetries: 0 }), 500);
  },
  // A framework.
  async aiSdk() {
    await generate({});
  },
  async langGraph() {
    const { ChatOpenAI } = await import("@langchain/openai");
    const { Annotation, END, START, StateGraph } = await import("@langchain/langgraph");
    const model = new ChatOpenAI({ model: "gpt-5.2" });
    const graph = new StateGraph(Annotation.Root({ plan: Annotation }))
      .addNode("ask", async () => ({ plan: String((await model.invoke(task)).content) }))
      .addNode("charge", async () => (await charge(), {}), { retryPolicy: { maxAttempts: 3 } })
      .addEdge(START, "ask")
      .addEdge("ask", "charge")
      .addEdge("charge", END);
    await graph.compile().invoke({ plan: "" });
  },
  async langGraphStepWithModel() {
    const { ChatOpenAI } = await import("@langchain/openai");
    const { Annotation, END, START, StateGraph } = await import("@langchain/langgraph");
    const model = new ChatOpenAI({ model: "gpt-5.2" });
    const step = async () => {
      const plan = String((await model.invoke(task)).content);
      await charge();
      return { plan };
    };
    const graph = new StateGraph(Annotation.Root({ plan: Annotation }))
      .addNode("charge", step, { retryPolicy: { maxAttempts: 3 } })
      .addEdge(START, "charge")
      .addEdge("charge", END);
    await graph.compile().invoke({ plan: "" });
  },
  // The model.
  async modelOfAiSdk() {
    const { openai } = await import("@ai-sdk/openai");
    const { ToolLoopAgent, jsonSchema, tool } = await import("ai");
    const text = { type: "string" };
    const properties = { customer: text, amount: { type: "integer" }, currency: text, order: text };
    const inputSchema = jsonSchema({ type: "object", properties, required: Object.keys(properties) });
    const charge_card = tool({ description: "Charges a customer.", inputSchema, execute: charge });
    const agent = new ToolLoopAgent({ model: openai.chat("gpt-5.2"), tools: { charge_card } });
    await agent.generate({ prompt: task });
  },
};

await madeBy[process.argv[2]]();
console.log('{"outcome": "done"}');
process.exit();
