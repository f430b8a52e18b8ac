/** What a failed check says: what happened, the timeline as evidence, and the fix. */
import { shown, type Effect, type Fields } from "./ledger.js";

const SAME_KEY =
  "Derive the idempotency key from the order, not from the attempt, so that every retry sends the same\n" +
  "  key. If the service takes no key, check whether the effect exists before you retry.";
const RETRY =
  "A failed or lost reply says nothing about the effect. Retry with the same idempotency key, or check\n" +
  "  whether the effect exists and report what you found.";

function timesText(times: number): string {
  return ["never", "once", "twice"][times] ?? `${times} times`;
}

/** The message of a check whose effect was committed too often or too rarely. */
export function wrongCount(check: {
  name: string;
  wanted: Fields;
  times: number;
  found: Effect[];
  others: Effect[];
  attempts: number;
  refused: number;
  timeline: string;
}): string {
  const { name, wanted, times, found, others } = check;
  const where = Object.keys(wanted).length > 0 ? ` with ${shown(wanted)}` : "";
  const was = found.length === 0 ? "was not committed" : `was committed ${timesText(found.length)}`;
  const lines = [`expected ${name}${where} to be committed ${timesText(times)}, but it ${was}`];
  if (others.length > 0) {
    const fields = others.slice(0, 3).map((effect) => shown(effect.fields));
    lines.push(`Committed with other fields: ${fields.join("; ")}`);
  }
  lines.push("", timelineText(check.timeline), "");
  if (found.length > times) {
    lines.push(times > 0 ? `Fix: ${SAME_KEY}` : `Fix: Do not send ${name} in this situation.`);
  } else if (check.attempts === 0 && check.refused > 0) {
    lines.push("Fix: The service refused every request. Change it; the timeline has the reasons.");
  } else if (check.attempts === 0) {
    const service = variablePart(name.split(".")[0] ?? name);
    lines.push(
      `Fix: No attempt of ${name} arrived. Let the code under test take the address of the service from\n` +
        `  its environment when it is called, for example from HAPAX_${service}_URL.`,
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
