// True for every page when it is open. The driver itself checks the console, requests and failed scripts.

import assert from "node:assert/strict";

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
