// Runs one named check on one page: `drive.mjs PAGE CHECK`. Ends with 0 when it holds; otherwise says on stderr what does not.
// `drive.mjs --list` names all checks.
//
// Every check ends with the same questions: was nothing said to the console, was nothing asked for but the file itself,
// did no script fail, and did nobody speak to the reader.

import assert from "node:assert/strict";
import { resolve } from "node:path";
import { start, windowFor } from "./browser.mjs";
import * as filters from "./checks/filters.mjs";
import * as keyboard from "./checks/keyboard.mjs";
import * as looks from "./checks/looks.mjs";
import * as opening from "./checks/opening.mjs";
import * as texts from "./checks/texts.mjs";
import * as timeline from "./checks/timeline.mjs";

// What is awaited comes in a moment; the machine may be busy.
const patience = 120_000;

const checks = { ...opening, ...filters, ...keyboard, ...timeline, ...looks, ...texts };

async function drive(path, name) {
  const check = checks[name];
  assert.ok(check, `there is no check ${name}: ${Object.keys(checks).join(", ")}`);
  const browser = await start();
  try {
    const { page, address, trouble } = await windowFor(browser, path);
    page.setDefaultTimeout(patience);
    await page.goto(address);
    await check(page);
    // What was set off by the last step has happened once the page has drawn twice.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.deepEqual(trouble, []);
  } finally {
    await browser.close();
  }
}

const [path, name] = process.argv.slice(2);
if (path === "--list") {
  console.log(Object.keys(checks).join("\n"));
} else {
  try {
    await drive(resolve(path), name);
  } catch (error) {
    console.error(error.stack ?? error);
    process.exitCode = 1;
  }
}
