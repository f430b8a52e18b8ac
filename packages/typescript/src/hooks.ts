/** Starts, resets and stops services in the hooks of a test runner. */
import { Services, type ServiceOptions } from "./services.js";

/** The hooks of a test runner, under the names of Vitest and Jest. */
export interface Hooks {
  beforeAll(run: () => Promise<void>): void;
  beforeEach(run: () => Promise<void>): void;
  afterEach(run: () => Promise<void>): void;
  afterAll(run: () => Promise<void>): void;
}

/**
 * Services that run while the tests of this file run. Before each test they are reset; after each test, a
 * fault that did not fire fails it. `process.env` points clients at them.
 */
export function withHooks(hooks: Hooks, names: string[] = [], options: ServiceOptions = {}): Services {
  const services = new Services(names, options);
  hooks.beforeAll(async () => {
    await services.start();
    services.setEnv();
  });
  hooks.beforeEach(() => services.reset());
  hooks.afterEach(() => services.checkFaults());
  hooks.afterAll(() => services.stop());
  return services;
}
