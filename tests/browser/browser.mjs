// Starts the Chromium that `install` found, with a temporary profile, and opens a page from a file.

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

/** Starts Chromium, headless; as root without its sandbox, because it refuses to start with it. */
export async function start() {
  const executablePath = (await readFile(found, "utf8")).trim();
  return chromium.launch({ executablePath, args: flags, headless: true, chromiumSandbox: process.getuid() !== 0 });
}

/**
 * Opens a window that can load the page at that path and nothing else.
 * Everything that a page must not do is added to `problems`: an error, a request, a dialog.
 */
export async function windowFor(browser, path, options = {}) {
  const address = path.startsWith("http://") ? path : pathToFileURL(path).href;
  const problems = [];
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  await context.route("**/*", (route) => (isOf(address, route.request().url()) ? route.continue() : route.abort()));
  const page = await context.newPage();
  page.on("request", (request) => {
    if (!isOf(address, request.url())) problems.push(`it requested ${request.url().slice(0, 200)}`);
  });
  page.on("websocket", (socket) => problems.push(`it opened a connection to ${socket.url()}`));
  page.on("pageerror", (error) => problems.push(`a script failed: ${error.stack ?? error}`));
  page.on("console", (message) => {
    // Chromium itself logs that a server refused a token.
    if (address.startsWith("http://") && message.text().includes("status of 401")) return;
    if (["error", "warning", "assert"].includes(message.type())) problems.push(`it logged an error: ${message.text()}`);
  });
  page.on("popup", (other) => problems.push(`it opened ${other.url()}`));
  page.on("dialog", (dialog) => {
    problems.push(`it opened a dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  return { page, address, problems };
}

/** Whether a request is for the file of the page; of a page of a server, for the same server. */
function isOf(address, asked) {
  if (address.startsWith("http://")) return new URL(asked).origin === new URL(address).origin;
  return asked.split("#")[0] === address;
}
