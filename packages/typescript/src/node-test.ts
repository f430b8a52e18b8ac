/** Mock services in the hooks of node:test. */
import { after, afterEach, before, beforeEach } from "node:test";
import { withHooks } from "./hooks.js";
import type { ServiceOptions, Services } from "./services.js";

/** Services that run while the tests of this file run; call it once, at the top of the file. */
export function useServices(names: string[] = [], options: ServiceOptions = {}): Services {
  return withHooks({ beforeAll: before, beforeEach, afterEach, afterAll: after }, names, options);
}
