#!/usr/bin/env node
// Starts the program for this system, which is in a package of its own: @hapax/linux-x64 and so on. They are
// optional dependencies of this package, and npm installs the one whose `os` and `cpu` fit.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

// The exit status of hapax for "nothing ran".
const USAGE_ERROR = 2;

function fail(message) {
  process.stderr.write(`hapax: ${message}\n`);
  process.exit(USAGE_ERROR);
}

/** The path of the program for this system. */
function program() {
  const name = `@hapax/${process.platform}-${process.arch}`;
  const builds = Object.keys(require("../package.json").optionalDependencies ?? {});
  if (!builds.includes(name)) {
    const systems = builds.map((build) => build.replace("@hapax/", "")).join(", ") || "none";
    fail(
      `there is no build for ${process.platform}-${process.arch} (builds: ${systems}). ` +
        "Build it from source with `cargo install --path .`, and run that.",
    );
  }
  try {
    return require.resolve(`${name}/bin/hapax`);
  } catch {
    return fail(
      `the package ${name} is not installed. It is an optional dependency: install hapax again without ` +
        "--omit=optional or --no-optional, on the system that it runs on.",
    );
  }
}

const child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
child.once("error", (error) => fail(`the program cannot be started: ${error.message}`));

// A terminal sends Ctrl-C to both processes; everything else that is sent to this one is passed on.
const hasTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !hasTerminal) child.kill(signal);
  });
}

child.once("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  // Ends in the same way, so that the caller sees the same.
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
