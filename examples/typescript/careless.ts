// A careless agent, as one writes it on a good day. It needs nothing but Node 22.18 or newer.
//
// Three things are wrong with it: it repeats whatever failed without asking whether it had happened, each time with a new key,
// and when it has run out of attempts it says that all is done.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";

type Want = Record<string, any>;
const env = process.env as Record<string, string>;

async function post(service: string, path: string, body: BodyInit, headers: Record<string, string> = {}) {
  const answer = await fetch(env[`HAPAX_${service}_URL`] + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${env[`HAPAX_${service}_KEY`]}`, "Idempotency-Key": randomUUID(), ...headers },
    body,
    signal: AbortSignal.timeout(30_000),
  });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

function charge(want: Want) {
  const form = new URLSearchParams({
    amount: String(want.amount),
    currency: want.currency,
    customer: want.customer,
    payment_method: want.payment_method ?? "pm_card_visa",
    "payment_method_types[]": "card",
    confirm: "true",
    "metadata[order]": want.order,
  });
  return post("PAYMENT", "/v1/payment_intents", form);
}

function sendMail({ order, ...want }: Want) {
  const tags = order ? [{ name: "order", value: order }] : [];
  const mail = { from: "shop@example.com", text: want.subject, ...want, tags };
  return post("EMAIL", "/emails", JSON.stringify(mail), { "Content-Type": "application/json" });
}

async function withRetries(action: (want: Want) => Promise<unknown>, want: Want) {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      return await action(want);
    } catch (error) {
      console.log(`trying again: ${error}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

function claim(outcome: string, message: string): never {
  writeFileSync(env.HAPAX_RESULT, JSON.stringify({ outcome, message }));
  process.exit();
}

const known: Record<string, (want: Want) => Promise<unknown>> = { "payment.charge": charge, "email.send": sendMail };

for (const step of JSON.parse(env.HAPAX_STEPS)) {
  if (!(step.do in known)) claim("not-done", `I do not know how to do ${step.do}.`);
  await withRetries(known[step.do], step.with);
}
claim("done", "All done.");
