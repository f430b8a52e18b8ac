/** Mock services in the hooks of node:test. */
import { after, afterEach, before, beforeEach } from "node:test";
import { withHooks } from "./hooks.js";
import type { ServiceOptions, Services } from "./services.js";

/** Services that run while the tests of this file run; call it once, at the top of the file. */
export function useServices(names: string[] = [], options: ServiceOptions = {}): Services {
  // Its hooks have no time limit.
  const hooks = {
    beforeAll: (run: () => Promise<void>) => before(run),
    beforeEach: (run: () => Promise<void>) => beforeEach(run),
    afterEach: (run: () => Promise<void>) => afterEach(run),
    afterAll: (run: () => Promise<void>) => after(run),
  };
  return withHooks(hooks, names, options);
}
