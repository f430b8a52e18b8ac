// A careful agent: each charge and each mail exactly once. It needs nothing but Node 22.18 or newer.
//
// 1. The key comes from the order: it is the same for every attempt, every restart and every worker.
// 2. What is meant is written down before it is done, and after a restart it is still what was written down.
// 3. A lost answer, 429 and 5xx prove nothing: it looks before it repeats.
// 4. It waits as long as the service asks, and stops after three attempts.
// 5. It believes a success when it sees what was done, and says `unknown` when it cannot find out.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

type Want = Record<string, any>;
type Seen = "done" | "not-done" | "unknown" | "absent";
type Reply = { status: number; headers: Headers; body: any };
type Deed = { key: string; send(key: string): Promise<Reply>; look(): Promise<Seen> };

const ATTEMPTS = 3;
const LOOKS = 3; // A read can lag behind the write: one look that finds nothing proves little.
const [PAUSE, LONGEST_PAUSE] = [0.5, 60]; // Seconds: where the service names none, and what is not waited for.
const env = process.env as Record<string, string>;

// One request. The status is 0 where no whole answer came.
async function call(service: string, path: string, body?: BodyInit, headers: Record<string, string> = {}): Promise<Reply> {
  try {
    const answer = await fetch(env[`HAPAX_${service}_URL`] + path, {
      method: body === undefined ? "GET" : "POST",
      headers: { Authorization: `Bearer ${env[`HAPAX_${service}_KEY`]}`, ...headers },
      body,
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: answer.ok ? JSON.parse(text) : null };
  } catch {
    return { status: 0, headers: new Headers(), body: null };
  }
}

function charge(want: Want): Deed {
  const { customer, order } = want;
  return {
    key: `charge-${encodeURIComponent(order)}`,
    send(key) {
      const form = new URLSearchParams({ amount: String(want.amount), currency: want.currency, customer, confirm: "true" });
      form.set("payment_method", want.payment_method ?? "pm_card_visa");
      form.set("payment_method_types[]", "card");
      form.set("metadata[order]", order);
      return call("PAYMENT", "/v1/payment_intents", form, { "Idempotency-Key": key });
    },
    async look() {
      // Not the search: it finds new things late.
      const found = await call("PAYMENT", `/v1/payment_intents?${new URLSearchParams({ customer, limit: "100" })}`);
      if (found.status !== 200) return "unknown";
      const isOurs = (it: any) => it.metadata.order === order && it.status === "succeeded";
      return found.body.data.some(isOurs) ? "done" : found.body.has_more ? "unknown" : "absent";
    },
  };
}

function mail(want: Want): Deed {
  const { subject, text = subject } = want;
  const to = [want.to].flat();
  const tags = "order" in want ? [{ name: "order", value: want.order }] : [];
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  return {
    // Not the text: a new wording is the same mail.
    key: "mail-" + createHash("sha256").update(JSON.stringify([to, subject, tags])).digest("hex").slice(0, 32),
    send(key) {
      const body = JSON.stringify({ from: "shop@example.com", to, subject, text, tags });
      return call("EMAIL", "/emails", body, { "Content-Type": "application/json", "Idempotency-Key": key });
    },
    async look() {
      const found = await call("EMAIL", "/emails?limit=100");
      if (found.status !== 200) return "unknown";
      for (const it of found.body.data) {
        if (it.subject !== subject || !same(it.to, to)) continue;
        const whole = await call("EMAIL", `/emails/${it.id}`); // The list does not show the order.
        if (whole.status !== 200) return "unknown";
        if (!same(whole.body.tags, tags)) continue;
        const fates: Record<string, Seen> = { delivered: "done", bounced: "not-done" };
        return fates[whole.body.last_event] ?? "unknown"; // On its way is not there yet, and no reason to send it again.
      }
      return found.body.has_more ? "unknown" : "absent";
    },
  };
}

async function look(deed: Deed, times: number): Promise<Seen> {
  const seen = await deed.look();
  if (seen === "done" || seen === "not-done" || times === 1) return seen;
  await sleep(PAUSE * 1000);
  return look(deed, times - 1);
}

// Does it exactly once, and says what came of it, and the status of the last answer.
async function carryOut(kind: (want: Want) => Deed, want: Want): Promise<[Seen, number]> {
  const file = `${env.HAPAX_STATE_DIR}/${kind(want).key}.json`;
  const note = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { want, key: kind(want).key, sent: false };
  const deed = kind(note.want);
  let status = 0;
  let seen = await look(deed, note.sent ? LOOKS : 1);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (seen === "done" || seen === "not-done" || (seen === "unknown" && note.sent)) break;
    note.sent = true;
    writeFileSync(`${file}.draft`, JSON.stringify(note));
    renameSync(`${file}.draft`, file); // Whole or not at all, should the process die here.
    const reply = await deed.send(note.key);
    status = reply.status;
    if (status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status)) return ["not-done", status];
    // The service keeps its failure under this key: it would never succeed.
    if (status >= 500 && reply.headers.get("Idempotent-Replayed") === "true") note.key += "-again";
    if (status < 200 || status >= 300) {
      const pause = Number(reply.headers.get("Retry-After")) || PAUSE;
      if (pause > LONGEST_PAUSE) return ["unknown", status];
      await sleep(pause * 1000);
    }
    seen = await look(deed, LOOKS);
  }
  // Said to be done or to be under way, and not to be seen: nobody can tell.
  if (seen === "absent") seen = (status >= 200 && status < 300) || status === 409 ? "unknown" : "not-done";
  return [seen, status];
}

function claim(outcome: string, message: string): never {
  writeFileSync(env.HAPAX_RESULT, JSON.stringify({ outcome, message }));
  process.exit();
}

const KNOWN: Record<string, (want: Want) => Deed> = { "payment.charge": charge, "email.send": mail };
const steps: { do: string; with: Want }[] = JSON.parse(env.HAPAX_STEPS);
const strange = steps.map((step) => step.do).filter((name) => !(name in KNOWN));
if (strange.length > 0 || steps.length === 0) {
  claim("not-done", `I do not know how to do ${strange.join(", ") || "a task without steps"}, so I did nothing.`);
}
const outcomes = new Set<string>();
const told: string[] = [];
for (const step of steps) {
  const [outcome, status] = await carryOut(KNOWN[step.do], step.with);
  outcomes.add(outcome);
  told.push(`${step.do}: ${outcome}, last answer: ${status || "none"}.`);
  if (outcome !== "done") break; // What follows may depend on it.
}
claim(outcomes.size === 1 ? [...outcomes][0] : "unknown", told.join(" ")); // Some of it done and some not is neither.
