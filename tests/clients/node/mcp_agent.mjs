// An agent that gets its tools over MCP, with the TypeScript SDK. It charges and refunds, in at most three attempts
// each.
//
//   mcp_agent.mjs TRANSPORT PROTOCOL KEYS
//
// TRANSPORT is `http` (the endpoint in HAPAX_MCP_URL) or the path of hapax, which is started as `hapax mcp`.
// PROTOCOL is `sdk-1` (version 1 of the SDK, which always sends `initialize`), or for version 2 of it `legacy`,
// `auto`, or a version without `initialize`.
// KEYS is `keyed` (a key for each operation, made from the order) or `keyless`.
import { writeFileSync } from "node:fs";

const [transport, protocol, keys] = process.argv.slice(2);
const env = process.env;
const ATTEMPTS = 3;
const TIMEOUT_MS = 5000;

const isFirst = protocol === "sdk-1";
const sdk = isFirst
  ? {
      ...(await import("@modelcontextprotocol/sdk/client/index.js")),
      ...(await import("@modelcontextprotocol/sdk/client/stdio.js")),
      ...(await import("@modelcontextprotocol/sdk/client/streamableHttp.js")),
    }
  : { ...(await import("@modelcontextprotocol/client")), ...(await import("@modelcontextprotocol/client/stdio")) };

function newClient() {
  const mode = protocol === "legacy" || protocol === "auto" ? protocol : { pin: protocol };
  const options = isFirst ? {} : { versionNegotiation: { mode } };
  return new sdk.Client({ name: "agent", version: "1.0.0" }, options);
}

function newTransport() {
  if (transport === "http") return new sdk.StreamableHTTPClientTransport(new URL(env.HAPAX_MCP_URL));
  return new sdk.StdioClientTransport({ command: transport, args: ["mcp"], env });
}

// The tool for a step, and its arguments.
function toolCall(step, charges) {
  const { customer, amount, currency, order } = step.with;
  const metadata = { order };
  if (step.do === "payment.charge") return ["payment_create_charge", { customer, amount, currency, metadata }];
  return ["payment_create_refund", { charge: charges[order], amount, metadata }];
}

// Makes one call over a connection of its own: the body of the reply, or nothing after an error of the service.
async function attempt(name, wanted, key) {
  const client = newClient();
  const opened = newTransport();
  try {
    await client.connect(opened, { timeout: TIMEOUT_MS });
    const { tools } = await client.listTools();
    const takesKey = "idempotency_key" in tools.find((card) => card.name === name).inputSchema.properties;
    const args = keys === "keyed" && takesKey ? { ...wanted, idempotency_key: key } : wanted;
    const call = { name, arguments: args };
    const options = { timeout: TIMEOUT_MS };
    const result = isFirst ? await client.callTool(call, undefined, options) : await client.callTool(call, options);
    // Over stdio, version 1 of the SDK keeps the version to itself.
    const version = isFirst ? opened.protocolVersion : client.getNegotiatedProtocolVersion();
    console.log(`${version}: ${name}: ${result.content[0].text.slice(0, 100)}`);
    return result.isError ? undefined : result.structuredContent.body;
  } finally {
    await client.close();
  }
}

async function carryOut(name, args, key) {
  for (let count = 0; count < ATTEMPTS; count++) {
    try {
      const body = await attempt(name, args, key);
      if (body !== undefined) return body;
    } catch (error) {
      console.log(`${name}: no reply: ${error}`);
    }
  }
  return undefined;
}

async function outcomeOf(steps) {
  const charges = {};
  for (const [number, step] of steps.entries()) {
    const [name, args] = toolCall(step, charges);
    const body = await carryOut(name, args, `${number}-${name}-${step.with.order}`);
    if (body === undefined) return "unknown";
    if (step.do === "payment.charge") charges[step.with.order] = body.id;
  }
  return "done";
}

const outcome = await outcomeOf(JSON.parse(env.HAPAX_STEPS));
writeFileSync(env.HAPAX_RESULT, JSON.stringify({ outcome, message: `Over MCP: ${outcome}.` }));
process.exit();
