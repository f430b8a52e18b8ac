// Starts Chromium as `install` found it, with a profile of its own that is gone afterwards, and opens a page from a file.

import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const found = new URL("../../target/browser/chromium", import.meta.url);

const flags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Starts Chromium, headless; without its sandbox only where it refuses to start with it, which is as root. */
export async function start() {
  const executablePath = (await readFile(found, "utf8")).trim();
  return chromium.launch({ executablePath, args: flags, headless: true, chromiumSandbox: process.getuid() !== 0 });
}

/**
 * Opens a window in which the page at that path can be opened and nothing else can be reached.
 * `trouble` grows with everything that a page must not do: say an error, ask for anything, or speak to its reader.
 */
export async function windowFor(browser, path, options = {}) {
  const address = pathToFileURL(path).href;
  const trouble = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  await context.route("**/*", (route) => (isOf(address, route.request().url()) ? route.continue() : route.abort()));
  const page = await context.newPage();
  page.on("request", (request) => {
    if (!isOf(address, request.url())) trouble.push(`it asked for ${request.url().slice(0, 200)}`);
  });
  page.on("websocket", (socket) => trouble.push(`it opened a connection to ${socket.url()}`));
  page.on("pageerror", (error) => trouble.push(`a script failed: ${error.stack ?? error}`));
  page.on("console", (said) => {
    if (["error", "warning", "assert"].includes(said.type())) trouble.push(`it said to the console: ${said.text()}`);
  });
  page.on("popup", (other) => trouble.push(`it opened ${other.url()}`));
  page.on("dialog", (dialog) => {
    trouble.push(`it spoke to its reader: ${dialog.message()}`);
    return dialog.dismiss();
  });
  return { page, address, trouble };
}

function isOf(address, asked) {
  return asked.split("#")[0] === address;
}
