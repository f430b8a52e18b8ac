// Runs one check on one page, a file or an http:// address: `drive.mjs PAGE CHECK`. Exits with 0 if it passes; otherwise prints the reason on
// standard error. `drive.mjs --list` prints the names of all checks.
//
// After every check: the console is empty, only the file itself was requested, no script failed, and no dialog was
// opened.

import assert from "node:assert/strict";
import { resolve } from "node:path";
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

async function drive(path, name) {
  const check = checks[name];
  assert.ok(check, `there is no check ${name}: ${Object.keys(checks).join(", ")}`);
  const browser = await start();
  try {
    const { page, address, problems } = await windowFor(browser, path);
    page.setDefaultTimeout(timeout);
    await page.goto(address);
    await check(page);
    // The effects of the last step are done when the page has been drawn twice.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.deepEqual(problems, []);
  } finally {
    await browser.close();
  }
}

const [path, name] = process.argv.slice(2);
if (path === "--list") {
  console.log(Object.keys(checks).join("\n"));
} else {
  try {
    await drive(path.startsWith("http://") ? path : resolve(path), name);
  } catch (error) {
    console.error(error.stack ?? error);
    process.exitCode = 1;
  }
}
