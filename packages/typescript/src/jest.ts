/** Mock services in the hooks of Jest. */
import { HapaxError } from "./binary.js";
import { withHooks, type Hooks } from "./hooks.js";
import type { ServiceOptions, Services } from "./services.js";

/** Services that run while the tests of this file run; call it once, at the top of the file. */
export function useServices(names: string[] = [], options: ServiceOptions = {}): Services {
  const hooks = globalThis as unknown as Partial<Hooks>;
  if (!hooks.beforeAll) throw new HapaxError("hapax/jest works in tests that Jest runs, with its globals");
  return withHooks(hooks as Hooks, names, options);
}
