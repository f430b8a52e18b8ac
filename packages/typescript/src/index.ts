/**
 * The mock services of hapax in tests: start them, inject faults, and check what was really committed.
 * `hapax/vitest`, `hapax/jest` and `hapax/node-test` start and reset them in the hooks of a test runner.
 */
export { ExpectationError, HapaxError, findHapax } from "./binary.js";
export type { Attempt, Effect, Entry, Fields, Value } from "./ledger.js";
export { Services, startServices } from "./services.js";
export type { EffectQuery, Fault, ServiceOptions } from "./services.js";
