// The hooks of the test runners, in processes of their own.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { messages } from "./ends.cjs";

const runners = [
  { command: "node", args: ["--test", "ends.node.mjs"], counts: ["pass 2", "fail 8"] },
  {
    command: "vitest",
    args: ["run", "--testTimeout", "60000", "ends.vitest"],
    counts: ["8 failed | 2 passed"],
  },
  {
    command: "jest",
    args: ["--testTimeout", "60000", "--rootDir", ".", "--testMatch", "**/ends.jest.cjs"],
    counts: ["8 failed, 2 passed"],
  },
];

for (const { command, args, counts } of runners) {
  test(`${command} fails a test at its end`, async () => {
    // Without the variable, node:test prints for people.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { status, output } = await new Promise((done) => {
      execFile(command, args, { cwd: import.meta.dirname, env }, (error, stdout, stderr) => {
        done({ status: error?.code, output: stdout + stderr });
      });
    });
    assert.equal(status, 1, output);
    for (const text of [...counts, ...messages]) {
      assert.ok(output.includes(text), `${command} does not print ${text}: ${output}`);
    }
  });
}
