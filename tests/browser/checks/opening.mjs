// True for every page when it is open. The driver itself checks the console, requests and failed scripts.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { filter, shownCases, becomes, state } from "./parts.mjs";

/** Nothing but what is asked at the end of every check. */
export async function a_page_opens_without_errors() {}

/** It has a title, a language, one heading of the first rank, and landmarks to jump to. */
export async function a_page_says_what_it_is(page) {
  assert.notEqual(await page.title(), "");
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  assert.equal(await page.getByRole("heading", { level: 1 }).count(), 1);
  assert.equal(await page.getByRole("main").count(), 1);
}

/** The first heading says what the run means to the customer. */
export async function the_page_leads_with_what_happened_to_the_customer(page) {
  const lead = page.getByRole("heading", { level: 1 });
  assert.equal(await lead.textContent(), "In 3 of 10 trials the customer paid twice: $149.97 too much.");
}

/** The page of a run that is not finished loads what was written since, and keeps its filters. */
export async function a_page_of_a_running_run_fills_up(page) {
  await page.getByText("Running: 10 of 20 trials have ended.").waitFor();
  await becomes(page, () => page.getByText("Loading: ").count(), 0);
  await filter.outcome(page).selectOption("fail");
  const path = fileURLToPath(page.url().split("#")[0]);
  const text = await readFile(path, "utf8");
  assert.ok(text.includes("Loading: "), "until it has loaded");
  await writeFile(path, text.replace("Running: 10 of", "Running: 11 of"));
  await page.getByText("Running: 11 of 20 trials have ended.").waitFor();
  assert.deepEqual(await state(page), { outcome: "fail" });
  await becomes(page, async () => (await shownCases(page)).length, 4);
  // The last page does not reload itself.
  await writeFile(path, text.replace('"running":true', '"running":false').replace("Running: 10 of", "Finished: 20 of"));
  await page.getByText("Finished: 20 of 20 trials").waitFor();
  assert.equal(await page.evaluate(() => DATA.running), false);
}
