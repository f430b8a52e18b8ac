// Takes a picture of a page: `picture.mjs PAGE PNG [HASH] [HEIGHT]`. Light, 1280 wide, and as high as the page by
// default.

import { resolve } from "node:path";
import { start, windowFor } from "./browser.mjs";

const [path, png, hash = "", height = ""] = process.argv.slice(2);
const browser = await start();
try {
  const look = { colorScheme: "light" };
  if (height) look.viewport = { width: 1280, height: Number(height) };
  const { page, address, problems } = await windowFor(browser, resolve(path), look);
  await page.goto(address + (hash && `#${hash.replace(/^#/, "")}`));
  if (!height) {
    // In a window as high as the page, because what is not visible is not drawn.
    const high = () => page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width: 1280, height: await high() });
    await page.setViewportSize({ width: 1280, height: await high() });
  }
  await page.screenshot({ path: resolve(png), animations: "disabled" });
  for (const what of problems) console.error(`picture: ${what}`);
  process.exitCode = problems.length ? 1 : 0;
} finally {
  await browser.close();
}
