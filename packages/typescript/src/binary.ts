/** Finds the command `hapax` and runs `hapax serve` for as long as this process lives. */
import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";

/** `hapax` cannot be found or started, or it refused a request of the test. */
export class HapaxError extends Error {
  override name = "HapaxError";
}

/** The services did not commit what a test expects, or a fault did not fire. */
export class ExpectationError extends Error {
  override name = "ExpectationError";
}

/**
 * The shell ends `hapax serve` when its standard input is closed, which also happens when this process is
 * killed. It ends its whole process group, because `hapax` can be a script that starts the program. It closes
 * its own output, so that the output ends when `hapax serve` ends.
 */
const KEEPER = `
"$@" </dev/null &
child=$!
exec >/dev/null 2>&1
read -r _line
trap "" TERM
kill -TERM 0
wait "$child"
`;

const STOP_MILLISECONDS = 10_000;

/** The path of `hapax`: HAPAX_BIN, or in node_modules/.bin of this folder or of one above it, or in PATH. */
export function findHapax(): string {
  const chosen = process.env["HAPAX_BIN"];
  if (chosen) {
    const found = isExecutable(resolve(chosen)) ? resolve(chosen) : inFolders(chosen, path());
    if (found === undefined) {
      throw new HapaxError(`HAPAX_BIN names ${chosen}, which is not an executable file`);
    }
    return found;
  }
  const found = inFolders("hapax", [...localFolders(process.cwd()), ...path()]);
  if (found === undefined) {
    throw new HapaxError(
      "the command hapax is not installed: run `npm install --save-dev hapax`, " +
        "or set HAPAX_BIN to the path of hapax",
    );
  }
  return found;
}

function path(): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
}

function localFolders(start: string): string[] {
  const folders = [];
  for (let folder = start; ; folder = dirname(folder)) {
    folders.push(join(folder, "node_modules", ".bin"));
    if (folder === dirname(folder)) return folders;
  }
}

function inFolders(name: string, folders: string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A running `hapax serve`. It ends with `stop`, and when this process ends in any way. */
export class ServeProcess {
  private constructor(
    private readonly child: ChildProcess,
    private readonly ended: Promise<void>,
    readonly adminUrl: string,
    readonly token: string,
    private readonly output: { errors: string },
  ) {}

  static async start(args: string[]): Promise<ServeProcess> {
    const command = [findHapax(), "serve", "--quiet", ...args];
    const child = spawn("sh", ["-c", KEEPER, "hapax-serve", ...command], {
      stdio: ["pipe", "pipe", "pipe"],
      // Its own process group: Ctrl-C ends the tests first and the services afterwards.
      detached: true,
    });
    const output = { errors: "" };
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output.errors += text));
    const ended = new Promise<void>((done) => child.once("close", () => done()));
    child.stdin.on("error", () => {});
    const banner = await readBanner(child);
    if (banner === undefined) {
      child.stdin.end("\n");
      await ended;
      throw new HapaxError(`hapax serve did not start:\n${output.errors.trim()}`);
    }
    // A test that forgets to stop the services can still end.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      (stream as unknown as { unref?: () => void }).unref?.();
    }
    return new ServeProcess(child, ended, banner.adminUrl, banner.token, output);
  }

  /** What it has written to standard error. */
  errors(): string {
    return this.output.errors.trim();
  }

  /** Ends the services and waits for them. */
  async stop(): Promise<void> {
    this.child.ref();
    this.child.stdin?.end("\n");
    const pid = this.child.pid;
    const timer = setTimeout(() => pid !== undefined && process.kill(-pid, "SIGKILL"), STOP_MILLISECONDS);
    await this.ended;
    clearTimeout(timer);
  }
}

function readBanner(child: ChildProcess): Promise<{ adminUrl: string; token: string } | undefined> {
  return new Promise((done, fail) => {
    let text = "";
    child.once("error", (error) => fail(new HapaxError(`sh cannot be started: ${error.message}`)));
    child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      const adminUrl = /^export HAPAX_ADMIN_URL=(.*)$/m.exec(text)?.[1];
      const token = /^export HAPAX_ADMIN_TOKEN=(.*)\n/m.exec(text)?.[1];
      if (adminUrl !== undefined && token !== undefined) done({ adminUrl, token });
    });
    child.stdout?.once("end", () => done(undefined));
  });
}
