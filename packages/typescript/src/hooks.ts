/** Starts, resets and stops services in the hooks of a test runner. */
import { Services, type ServiceOptions } from "./services.js";

/** The time limit of a hook. The defaults of the runners, 5 s and 10 s, are too short for a busy machine. */
const TIMEOUT_MILLISECONDS = 60_000;

type Hook = (run: () => Promise<void>, timeoutMilliseconds: number) => void;

/** The hooks of a test runner, under the names of Vitest and Jest. */
export interface Hooks {
  beforeAll: Hook;
  beforeEach: Hook;
  afterEach: Hook;
  afterAll: Hook;
}

/**
 * Services that run while the tests of this file run. Before each test they are reset. After each test
 * it is checked again: wrong effects fail it, and so does what proves nothing, such as a fault that did not
 * fire. `process.env` points clients at the services.
 */
export function withHooks(hooks: Hooks, names: string[] = [], options: ServiceOptions = {}): Services {
  const services = new Services(names, options);
  hooks.beforeAll(async () => {
    await services.start();
    services.setEnv();
  }, TIMEOUT_MILLISECONDS);
  hooks.beforeEach(() => services.begin(), TIMEOUT_MILLISECONDS);
  hooks.afterEach(() => services.check(), TIMEOUT_MILLISECONDS);
  hooks.afterAll(() => services.stop(), TIMEOUT_MILLISECONDS);
  return services;
}
