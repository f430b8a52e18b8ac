/** What a test expects, to be compared again with the effects at its end. */
import { matches, type Effect, type Fields } from "./ledger.js";

/** A call of `expect`. */
export interface Expectation {
  name: string;
  wanted: Fields;
  times: number;
  hasPassed: boolean;
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
  const passed = expectations.filter((expectation) => expectation.hasPassed);
  const all = passed.filter((expectation, place) => {
    const later = passed.slice(place + 1);
    return effects.some((effect, number) => {
      const isNew = number >= expectation.seen && counts(expectation, effect);
      return isNew && !later.some((each) => number < each.seen && counts(each, effect));
    });
  });
  return all.at(-1);
}

/** The effects that no expectation matches, of the names for which there is one. */
export function unexpected(expectations: Expectation[], effects: Effect[]): Effect[] {
  const names = new Set(expectations.map((expectation) => expectation.name));
  return effects.filter(
    (effect) => names.has(effect.name) && !expectations.some((each) => counts(each, effect)),
  );
}
