/** What a test expects, to be compared again with the effects at its end. */
import { matches, type Effect, type Fields } from "./ledger.js";

/** A call of `expect`. */
export interface Expectation {
  name: string;
  wanted: Fields;
  times: number;
  /** The message with which it failed. */
  error?: string;
  /** How many effects, of all names, were committed when it was called. */
  seen: number;
}

/** Whether an expectation counts an effect. */
export function counts(expectation: Expectation, effect: Effect): boolean {
  return effect.name === expectation.name && matches(effect.fields, expectation.wanted);
}

/**
 * The last expectation that has passed and does not hold any more. It need not hold for effects that a later
 * one has counted: a test can expect no charge, check out, and expect one charge.
 */
export function broken(expectations: Expectation[], effects: Effect[]): Expectation | undefined {
  const passed = expectations.filter((expectation) => expectation.error === undefined);
  const all = passed.filter((expectation, place) => {
    const later = passed.slice(place + 1);
    return effects.some((effect, number) => {
      const isNew = number >= expectation.seen && counts(expectation, effect);
      return isNew && !later.some((each) => number < each.seen && counts(each, effect));
    });
  });
  return all.at(-1);
}

/** The first expectation that failed, and that no later one of the same effect made good. */
export function swallowed(expectations: Expectation[]): Expectation | undefined {
  const effect = ({ name, wanted }: Expectation) => JSON.stringify([name, wanted]);
  return expectations.find((failed, place) => {
    const later = expectations.slice(place).filter((each) => each.error === undefined);
    return failed.error !== undefined && !later.some((each) => effect(each) === effect(failed));
  });
}

/** The effects that no expectation matches, of the names for which there is one. */
export function unexpected(expectations: Expectation[], effects: Effect[]): Effect[] {
  const names = new Set(expectations.map((expectation) => expectation.name));
  return effects.filter(
    (effect) => names.has(effect.name) && !expectations.some((each) => counts(each, effect)),
  );
}
