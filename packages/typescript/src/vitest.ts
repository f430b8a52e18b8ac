/** Mock services in the hooks of Vitest. */
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { withHooks } from "./hooks.js";
import type { ServiceOptions, Services } from "./services.js";

/** Services that run while the tests of this file run; call it once, at the top of the file. */
export function useServices(names: string[] = [], options: ServiceOptions = {}): Services {
  return withHooks({ beforeAll, beforeEach, afterEach, afterAll }, names, options);
}
