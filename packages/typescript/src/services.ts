/** Running mock services, controlled over the admin API of `hapax serve`. */
import { Admin } from "./admin.js";
import { ExpectationError, HapaxError, ServeProcess } from "./binary.js";
import { attemptsIn, effectsIn, matches } from "./ledger.js";
import type { Attempt, Effect, Entry, Fields } from "./ledger.js";
import { notFired, unknownField, variablePart, wrongCount } from "./messages.js";

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

  /** Removes all faults and everything that was committed. */
  async reset(): Promise<void> {
    const { admin } = this.started();
    await admin.json("DELETE", "/v1/faults");
    await admin.json("DELETE", "/v1/ledger");
  }

  /** Arms a fault. One that does not fire fails the test, unless it is `optional` or has a `chance`. */
  async fault(fault: Fault): Promise<void> {
    const whole = { attempt: 1, commit: "now", reply: "ok", ...fault };
    await this.started().admin.json("POST", "/v1/faults", [whole]);
  }

  /** What was committed. */
  async effects(name?: string, query: EffectQuery = {}): Promise<Effect[]> {
    const wanted = query.where ?? {};
    if (query.settle ?? true) await this.settle();
    this.checkName(name);
    const all = effectsIn(await this.ledger());
    const ofName = all.filter((effect) => name === undefined || effect.name === name);
    return withFields(name ?? "effect", ofName, wanted);
  }

  /** The requests that the services accepted for operations. */
  async attempts(operation?: string, query: { where?: Fields } = {}): Promise<Attempt[]> {
    this.checkName(operation);
    const all = attemptsIn(await this.ledger());
    const ofName = all.filter((attempt) => operation === undefined || attempt.operation === operation);
    return withFields(operation ?? "attempt", ofName, query.where ?? {});
  }

  /**
   * Fails with the timeline unless the effect was committed `times` times (once by default), and returns the
   * effects. It also fails if a fault on this operation did not fire.
   */
  async expect(name: string, query: { times?: number; where?: Fields } = {}): Promise<Effect[]> {
    const { times = 1, where: wanted = {} } = query;
    const found = await this.effects(name, { where: wanted });
    if (found.length !== times) {
      const others = found.length === 0 ? await this.effects(name, { settle: false }) : [];
      const attempts = (await this.attempts(name)).length;
      const service = name.split(".")[0];
      const refused = (await this.ledger()).filter(
        (entry) => entry.kind === "refused" && entry["service"] === service,
      ).length;
      const timeline = await this.timeline();
      const check = { name, wanted, times, found, others, attempts, refused, timeline };
      throw new ExpectationError(wrongCount(check));
    }
    await this.checkFaults(name);
    return found;
  }

  /** Fails if a fault (on this operation) did not fire. The hooks of the runner call it after each test. */
  async checkFaults(operation?: string): Promise<void> {
    const { faults } = await this.started().admin.json<{
      faults: { fault: Fault; line: string; seen: number; fired: number[] }[];
    }>("GET", "/v1/faults");
    const unused = faults.filter(
      ({ fault, fired }) =>
        !fault.optional &&
        fault.chance === undefined &&
        fired.length === 0 &&
        (operation === undefined || fault.on === operation),
    );
    if (unused.length > 0) {
      const lines = unused.map(
        ({ line, seen }) => `${line} (${seen} matching ${seen === 1 ? "attempt" : "attempts"})`,
      );
      throw new ExpectationError(notFired(lines, await this.timeline()));
    }
  }

  /** Commits everything that is outstanding. */
  async settle(): Promise<void> {
    await this.started().admin.json("POST", "/v1/settle");
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
