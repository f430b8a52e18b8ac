/** Attempts and effects as the ledger of the services has them. */

/** The value of a field. */
export type Value = boolean | number | string | string[];

/** The fields of a request or of an effect. */
export type Fields = Record<string, Value>;

/** Something that a service committed. */
export interface Effect {
  /** For example `payment.charge`. */
  name: string;
  /** The id of the object. */
  id: string;
  /** The attempt that caused it; 0 if no attempt did. */
  attempt: number;
  /** For example `amount` and `order`. */
  fields: Fields;
}

/** A request that a service accepted for an operation. */
export interface Attempt {
  /** Counts the attempts on all services, from 1. */
  number: number;
  /** For example `payment.charge`. */
  operation: string;
  method: string;
  path: string;
  caller: number;
  /** The idempotency key. */
  key: string | undefined;
  fields: Fields;
}

/** An entry of the ledger. */
export interface Entry {
  n: number;
  kind: string;
  [name: string]: unknown;
}

/** All effects of a ledger, in the order of their commits. */
export function effectsIn(entries: Entry[]): Effect[] {
  return entries
    .filter((entry) => entry.kind === "committed")
    .map((entry) => ({
      name: entry["effect"] as string,
      id: (entry["id"] ?? "") as string,
      attempt: entry["attempt"] as number,
      fields: (entry["fields"] ?? {}) as Fields,
    }));
}

/** All attempts of a ledger, in the order of their arrival. */
export function attemptsIn(entries: Entry[]): Attempt[] {
  return entries
    .filter((entry) => entry.kind === "received")
    .map((entry) => ({
      number: entry["attempt"] as number,
      operation: entry["operation"] as string,
      method: (entry["method"] ?? "") as string,
      path: (entry["path"] ?? "") as string,
      caller: (entry["caller"] ?? 1) as number,
      key: entry["key"] as string | undefined,
      fields: (entry["fields"] ?? {}) as Fields,
    }));
}

/** The requests that the real services serve and hapax does not, each once, with what hapax lacks. */
export function unsupportedIn(entries: Entry[]): string[] {
  const lines = entries.flatMap((entry) => {
    const { kind, service, method, path, unsupported, undecided } = entry as Record<string, unknown>;
    const why = unsupported ? `hapax does not have ${unsupported} yet` : undecided;
    return kind === "refused" && why ? [`${service}: ${method} ${path}: ${why}`] : [];
  });
  return [...new Set(lines)];
}

/** Whether the fields have all wanted values. */
export function matches(fields: Fields, wanted: Fields): boolean {
  return Object.entries(wanted).every(([name, want]) => {
    const have = fields[name];
    return have !== undefined && meets(have, want);
  });
}

/** `4999` and `"4999"` are the same. A list meets one of its members, or all of them in any order. */
function meets(have: Value, want: Value): boolean {
  if (Array.isArray(have)) {
    return Array.isArray(want)
      ? JSON.stringify([...have].sort()) === JSON.stringify([...want].sort())
      : have.includes(text(want));
  }
  return Array.isArray(want) ? want.length === 1 && want[0] === text(have) : text(have) === text(want);
}

function text(value: Value): string {
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Fields as `name=value`. */
export function shown(fields: Fields): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${text(value)}`)
    .join(", ");
}
