// Runs checks on pages; a page is a file or an http:// address.
//
//   drive.mjs PAGE CHECK   one check. Exits with 0 if it passes; otherwise prints the reason on standard error.
//   drive.mjs --serve      many checks in one Chromium: reads lines `{"id", "page", "check"}` until its input
//                          ends, and prints a line `{"id", "found"}` for each; `found` is empty if it passes.
//   drive.mjs --list       prints the names of all checks.
//
// Each check has a window with an empty profile. After every check: the console is empty, only the file itself was
// requested, no script failed, and no dialog was opened.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { start, windowFor } from "./browser.mjs";
import * as filters from "./checks/filters.mjs";
import * as keyboard from "./checks/keyboard.mjs";
import * as live from "./checks/live.mjs";
import * as looks from "./checks/looks.mjs";
import * as opening from "./checks/opening.mjs";
import * as site from "./checks/site.mjs";
import * as texts from "./checks/texts.mjs";
import * as timeline from "./checks/timeline.mjs";

// Far longer than a check takes, even on a busy machine.
const timeout = 120_000;

const checks = { ...opening, ...filters, ...keyboard, ...timeline, ...looks, ...texts, ...live, ...site };

/** Runs a check in a new window. */
async function drive(browser, path, name) {
  const check = checks[name];
  assert.ok(check, `there is no check ${name}: ${Object.keys(checks).join(", ")}`);
  const { page, address, problems } = await windowFor(browser, path.startsWith("http://") ? path : resolve(path));
  try {
    page.setDefaultTimeout(timeout);
    await page.goto(address);
    await check(page);
    // The effects of the last step are done when the page has been drawn twice.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.deepEqual(problems, []);
  } finally {
    await page.context().close();
  }
}

/** What a check finds; empty if it passes. */
async function found(browser, path, name) {
  try {
    await drive(browser, path, name);
    return "";
  } catch (error) {
    return `${error.stack ?? error}`;
  }
}

async function serve(browser) {
  const running = new Set();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, page, check } = JSON.parse(line);
    const run = found(browser, page, check).then((found) => {
      running.delete(run);
      process.stdout.write(`${JSON.stringify({ id, found })}\n`);
    });
    running.add(run);
  }
  await Promise.all(running);
}

const [path, name] = process.argv.slice(2);
if (path === "--list") {
  console.log(Object.keys(checks).join("\n"));
} else {
  const browser = await start();
  try {
    if (path === "--serve") {
      await serve(browser);
    } else {
      const reason = await found(browser, path, name);
      if (reason) console.error(reason);
      process.exitCode = reason ? 1 : 0;
    }
  } finally {
    await browser.close();
  }
}
