/** What a failed check says: what happened, the timeline as evidence, and the fix. */
import { counts, type Expectation } from "./expectations.js";
import { attemptsIn, effectsIn, shown, type Effect, type Entry } from "./ledger.js";

const SAME_KEY =
  "Derive the idempotency key from the order, not from the attempt, so that every retry sends the same\n" +
  "  key. If the service takes no key, check whether the effect exists before you retry.";
const RETRY =
  "A failed or lost reply says nothing about the effect. Retry with the same idempotency key, or check\n" +
  "  whether the effect exists and report what you found.";

const MAX_LINES = 10;

function timesText(times: number): string {
  return ["never", "once", "twice"][times] ?? `${times} times`;
}

/** The message of a check whose effect was committed too often or too rarely. */
export function wrongCount(expectation: Expectation, entries: Entry[], timeline: string): string {
  const { name, wanted, times } = expectation;
  const ofName = effectsIn(entries).filter((effect) => effect.name === name);
  const found = ofName.filter((effect) => counts(expectation, effect));
  const hasAttempts = attemptsIn(entries).some((attempt) => attempt.operation === name);
  const service = name.split(".")[0] ?? name;
  const hasRefused = entries.some((entry) => entry.kind === "refused" && entry["service"] === service);
  const where = Object.keys(wanted).length > 0 ? ` with ${shown(wanted)}` : "";
  const was = found.length === 0 ? "was not committed" : `was committed ${timesText(found.length)}`;
  const lines = [`expected ${name}${where} to be committed ${timesText(times)}, but it ${was}`];
  if (expectation.seen < effectsIn(entries).length) {
    lines.push("The check passed when the test called it; more was committed after that.");
  }
  if (ofName.length > 0 && found.length === 0) {
    const fields = ofName.slice(0, 3).map((effect) => shown(effect.fields));
    lines.push(`Committed with other fields: ${fields.join("; ")}`);
  }
  lines.push("", timelineText(timeline), "");
  if (found.length > times) {
    lines.push(times > 0 ? `Fix: ${SAME_KEY}` : `Fix: Do not send ${name} in this situation.`);
  } else if (!hasAttempts && hasRefused) {
    lines.push("Fix: The service refused every request. Change it; the timeline has the reasons.");
  } else if (!hasAttempts) {
    lines.push(
      `Fix: No attempt of ${name} arrived. Let the code under test take the address of the service from\n` +
        `  its environment when it is called, for example from HAPAX_${variablePart(service)}_URL.`,
    );
  } else {
    lines.push(`Fix: ${RETRY}`);
  }
  return lines.join("\n");
}

/** The message of a test whose faults were not injected. */
export function notFired(faults: string[], timeline: string): string {
  return [
    "a fault did not fire, so the test proves nothing:",
    ...faults.map((line) => `  ${line}`),
    "",
    timelineText(timeline),
    "",
    "Fix: Let the test cause that attempt, change the fault, or arm it with optional: true.",
  ].join("\n");
}

/** The message of a test with effects that its checks do not count. */
export function notExpected(effects: Effect[], timeline: string): string {
  return [
    "an effect was committed that no expect of the test matches:",
    ...bounded(effects.map((effect) => `${effect.name} with ${shown(effect.fields)}`)),
    "",
    timelineText(timeline),
    "",
    "Fix: Do not cause the effect, or add an expect for it if it is right.",
  ].join("\n");
}

/** The message of a test with requests that hapax cannot answer as the real service does. */
export function notSupported(requests: string[], timeline: string): string {
  return [
    "hapax lacks what a request needs, so the test proves nothing:",
    ...bounded(requests),
    "",
    timelineText(timeline),
    "",
    "Fix: Let the code under test do without it in this test, serve it from a service of your own",
    "  (docs/your-own-service.md), or open an issue that names it.",
  ].join("\n");
}

/** The first lines, indented, and how many more there are. */
function bounded(lines: string[]): string[] {
  const more = lines.length - MAX_LINES;
  const first = lines.slice(0, MAX_LINES).map((line) => `  ${line}`);
  return more > 0 ? [...first, `  and ${more} more`] : first;
}

/** The message of a check that names a field that no effect has. */
export function unknownField(name: string, fields: string[], known: string[]): string {
  return (
    `no ${name} has the field ${fields.join(", ")}: a check of it would always count 0\n` +
    `Its fields are: ${known.join(", ")}`
  );
}

function timelineText(timeline: string): string {
  return `Timeline (seconds since the start of the test):\n${timeline.trimEnd() || "  no request arrived"}`;
}

/** The name of a service as a part of the names of its variables. */
export function variablePart(service: string): string {
  return service.toUpperCase().replaceAll("-", "_");
}
