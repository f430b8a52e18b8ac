/** Running mock services, controlled over the admin API of `hapax serve`. */
import { Admin } from "./admin.js";
import { ExpectationError, HapaxError, ServeProcess } from "./binary.js";
import { Calls } from "./calls.js";
import { broken, swallowed, unexpected, type Expectation } from "./expectations.js";
import { attemptsIn, effectsIn, matches, unsupportedIn } from "./ledger.js";
import type { Attempt, Effect, Entry, Fields } from "./ledger.js";
import { notExpected, notFired, notSupported, unknownField, variablePart, wrongCount } from "./messages.js";

/** How services are started. */
export interface ServiceOptions {
  /** YAML files that declare services of your own. */
  files?: string[];
  /** How services treat idempotency keys, such as `{ payment: "none" }`. */
  idempotency?: Record<string, string>;
  /** The number of callers; each has its own address of each service. */
  callers?: number;
}

/** A fault: what is committed on an attempt, and what the caller sees. */
export interface Fault {
  /** The operation, such as `payment.charge`. */
  on: string;
  /** 1, [1, 4], "1..3" or "every"; 1 by default. */
  attempt?: number | number[] | string;
  /** `now`, `never`, `later`, `twice`, `{ part: 0.5 }` and more; `now` by default. */
  commit?: string | Record<string, unknown>;
  /** `ok`, `drop`, `reset`, `hang`, `truncate`, `{ status: 503 }` and more; `ok` by default. */
  reply?: string | Record<string, unknown>;
  /** The values that fields of the request must have. */
  where?: Fields;
  caller?: number;
  chance?: number;
  /** Whether a test can pass in which it does not fire. */
  optional?: boolean;
}

/** Which effects are meant. */
export interface EffectQuery {
  /** Values of fields. */
  where?: Fields;
  /** Whether outstanding commits happen first; true by default. */
  settle?: boolean;
}

interface ServiceInfo {
  name: string;
  urls: string[];
  operations: { name: string }[];
}

interface Running {
  process: ServeProcess;
  admin: Admin;
  env: Record<string, string>;
  urls: Map<string, string[]>;
  operations: Set<string>;
}

/** Mock services. */
export class Services {
  private running: Running | undefined;
  private saved: Map<string, string | undefined> | undefined;
  private readonly calls = new Calls();
  private expectations: Expectation[] = [];
  private problem: string | undefined;

  /** Services that are not started yet; if there is no name and no file, all that hapax ships. */
  constructor(
    private readonly names: string[] = [],
    private readonly options: ServiceOptions = {},
  ) {}

  /** Starts the services. */
  async start(): Promise<this> {
    if (this.running) return this;
    const { files = [], idempotency = {}, callers = 1 } = this.options;
    const process = await ServeProcess.start([
      ...this.names,
      ...files.flatMap((file) => ["--service", file]),
      ...Object.entries(idempotency).flatMap(([name, profile]) => ["--idempotency", `${name}=${profile}`]),
      ...(callers === 1 ? [] : ["--callers", String(callers)]),
    ]);
    const admin = new Admin(process.adminUrl, process.token, () => process.errors());
    const { services, environment } = await admin.json<{
      services: ServiceInfo[];
      environment: Record<string, string>;
    }>("GET", "/v1/services");
    this.running = {
      process,
      admin,
      env: environment,
      urls: new Map(services.map((one) => [one.name, one.urls])),
      operations: new Set(services.flatMap((one) => one.operations.map((operation) => operation.name))),
    };
    return this;
  }

  /** The variables that point clients at the services, such as HAPAX_PAYMENT_URL or OPENAI_BASE_URL. */
  get env(): Record<string, string> {
    return { ...this.started().env };
  }

  /** Sets these variables in `process.env`; `restoreEnv` sets the values from before. */
  setEnv(): void {
    const { env } = this.started();
    this.saved ??= new Map(Object.keys(env).map((name) => [name, process.env[name]]));
    Object.assign(process.env, env);
  }

  /** Undoes `setEnv`. */
  restoreEnv(): void {
    for (const [name, value] of this.saved ?? []) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    this.saved = undefined;
  }

  /** The address of a service. */
  url(service: string, caller = 1): string {
    const { urls } = this.started();
    const found = urls.get(service);
    if (found === undefined) {
      throw new HapaxError(`the service ${service} was not started; running: ${[...urls.keys()].join(", ")}`);
    }
    const url = found[caller - 1];
    if (url === undefined) {
      throw new HapaxError(`caller ${caller} of ${service} does not exist; callers: 1 to ${found.length}`);
    }
    return url;
  }

  /** An API key that the service accepts. */
  key(service: string): string {
    this.url(service);
    return this.started().env[`HAPAX_${variablePart(service)}_KEY`] ?? "";
  }

  /**
   * Begins a test: removes all faults and effects, and forgets what the test before expected. The hooks of the
   * runner call it before each test.
   */
  async begin(): Promise<void> {
    await this.calls.end();
    this.calls.clear();
    this.problem = undefined;
    await this.clear();
  }

  /**
   * Removes all faults and everything that was committed, in the middle of a test. What would fail the test
   * if it ended now still fails it at its end.
   */
  reset(): Promise<void> {
    const earlier = this.calls.end();
    return this.calls.run(async () => {
      const failed = await earlier;
      if (failed) throw failed.error;
      if (this.problem === undefined) {
        const problem = await this.problemNow();
        this.problem = problem === undefined ? undefined : `before reset(): ${problem}`;
      }
      await this.clear();
    });
  }

  private async clear(): Promise<void> {
    const { admin } = this.started();
    this.expectations = [];
    await admin.json("DELETE", "/v1/faults");
    await admin.json("DELETE", "/v1/ledger");
  }

  /** Arms a fault. One that does not fire fails the test, unless it is `optional` or has a `chance`. */
  fault(fault: Fault): Promise<void> {
    return this.calls.run(async () => {
      const whole = { attempt: 1, commit: "now", reply: "ok", ...fault };
      await this.started().admin.json("POST", "/v1/faults", [whole]);
    });
  }

  /** What was committed. */
  effects(name?: string, query: EffectQuery = {}): Promise<Effect[]> {
    return this.calls.run(async () => {
      if (query.settle ?? true) await this.settle();
      this.checkName(name);
      const all = effectsIn(await this.ledger());
      const ofName = all.filter((effect) => name === undefined || effect.name === name);
      return withFields(name ?? "effect", ofName, query.where ?? {});
    });
  }

  /** The requests that the services accepted for operations. */
  attempts(operation?: string, query: { where?: Fields } = {}): Promise<Attempt[]> {
    return this.calls.run(async () => {
      this.checkName(operation);
      const all = attemptsIn(await this.ledger());
      const ofName = all.filter((attempt) => operation === undefined || attempt.operation === operation);
      return withFields(operation ?? "attempt", ofName, query.where ?? {});
    });
  }

  /**
   * Fails with the timeline unless the effect was committed `times` times (once by default), and returns the
   * effects. It also fails if a fault on this operation did not fire. At the end of the test it is checked
   * again, and an effect of this name that no `expect` of the test matches fails the test.
   */
  expect(name: string, query: { times?: number; where?: Fields } = {}): Promise<Effect[]> {
    const { times = 1, where: wanted = {} } = query;
    return this.calls.run(async () => {
      this.checkName(name);
      await this.settle();
      const entries = await this.ledger();
      const effects = effectsIn(entries);
      const found = withFields(name, effects.filter((effect) => effect.name === name), wanted);
      const expectation = { name, wanted, times, seen: effects.length };
      if (found.length !== times) {
        const error = wrongCount(expectation, entries, await this.timeline());
        this.expectations.push({ ...expectation, error });
        throw new ExpectationError(error);
      }
      this.expectations.push(expectation);
      await this.checkFaults(name);
      return found;
    });
  }

  /**
   * Ends a test. It waits for calls without `await`, and fails
   *
   * - if one of them failed,
   * - if an `expect` failed, and the test caught its error,
   * - if more was committed after an `expect` had passed,
   * - if an effect was committed that no `expect` matches, though there is one for its name,
   * - if hapax does not support a request,
   * - if a fault did not fire.
   *
   * The hooks of the runner call it after each test.
   */
  async check(): Promise<void> {
    const failed = await this.calls.end();
    if (failed) throw failed.error;
    const problem = this.problem ?? (await this.problemNow());
    if (problem !== undefined) throw new ExpectationError(problem);
  }

  /** Fails if a fault (on this operation) did not fire. */
  checkFaults(operation?: string): Promise<void> {
    return this.calls.run(async () => {
      const unused = await this.unusedFaults(operation);
      if (unused.length > 0) throw new ExpectationError(notFired(unused, await this.timeline()));
    });
  }

  /** Why the test would fail if it ended now. A wrong effect comes before what proves nothing. */
  private async problemNow(): Promise<string | undefined> {
    if (this.expectations.length > 0) await this.settle();
    const entries = await this.ledger();
    const effects = effectsIn(entries);
    const expectation = broken(this.expectations, effects);
    if (expectation) return wrongCount(expectation, entries, await this.timeline());
    const failed = swallowed(this.expectations);
    if (failed) return `an expect failed, and the test caught its error:\n${failed.error}`;
    const others = unexpected(this.expectations, effects);
    if (others.length > 0) return notExpected(others, await this.timeline());
    const unsupported = unsupportedIn(entries);
    if (unsupported.length > 0) return notSupported(unsupported, await this.timeline());
    const unused = await this.unusedFaults();
    return unused.length > 0 ? notFired(unused, await this.timeline()) : undefined;
  }

  /** The faults (on this operation) that did not fire and had to. */
  private async unusedFaults(operation?: string): Promise<string[]> {
    const { faults } = await this.started().admin.json<{
      faults: { fault: Fault; line: string; seen: number; fired: number[] }[];
    }>("GET", "/v1/faults");
    return faults
      .filter(
        ({ fault, fired }) =>
          !fault.optional &&
          fault.chance === undefined &&
          fired.length === 0 &&
          (operation === undefined || fault.on === operation),
      )
      .map(({ line, seen }) => `${line} (${seen} matching ${seen === 1 ? "attempt" : "attempts"})`);
  }

  /** Commits everything that is outstanding. */
  settle(): Promise<void> {
    return this.calls.run(async () => {
      await this.started().admin.json("POST", "/v1/settle");
    });
  }

  /** Requests, faults, commits and replies since the last reset, as text. */
  async timeline(): Promise<string> {
    return this.started().admin.text("GET", "/v1/timeline");
  }

  /** All entries of the ledger since the last reset. */
  async ledger(): Promise<Entry[]> {
    const { admin } = this.started();
    const entries: Entry[] = [];
    for (;;) {
      const page = await admin.json<{ entries: Entry[]; count: number }>(
        "GET",
        `/v1/ledger?after=${entries.at(-1)?.n ?? 0}`,
      );
      entries.push(...page.entries);
      if (page.entries.length === 0 || entries.length >= page.count) return entries;
    }
  }

  /** Ends the services. */
  async stop(): Promise<void> {
    this.restoreEnv();
    const { running } = this;
    this.running = undefined;
    await running?.process.stop();
  }

  private started(): Running {
    if (!this.running) throw new HapaxError("the services are not running: await start() first");
    return this.running;
  }

  /** A name that does not exist would count 0 in every check. */
  private checkName(name: string | undefined): void {
    const { operations } = this.started();
    if (name !== undefined && !operations.has(name)) {
      const known = [...operations].sort().join(", ");
      throw new HapaxError(`the running services have no operation ${name}; known: ${known}`);
    }
  }
}

/** Starts services: those that hapax ships by name (all if there is no name and no file), and your own. */
export function startServices(names: string[] = [], options: ServiceOptions = {}): Promise<Services> {
  return new Services(names, options).start();
}

/** The effects or attempts with these fields. If none has one of the fields, its name is wrong. */
function withFields<Item extends Effect | Attempt>(name: string, items: Item[], wanted: Fields): Item[] {
  const found = items.filter((item) => matches(item.fields, wanted));
  if (items.length > 0 && found.length === 0) {
    const known = [...new Set(items.flatMap((item) => Object.keys(item.fields)))].sort();
    const unknown = Object.keys(wanted).filter((field) => !known.includes(field));
    if (unknown.length > 0) throw new HapaxError(unknownField(name, unknown, known));
  }
  return found;
}
