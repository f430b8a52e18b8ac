// The site of the docs, from a web server.

import assert from "node:assert/strict";

export async function the_search_of_the_site_finds_a_page(page) {
  await page.getByRole("textbox", { name: "Search" }).click();
  await page.keyboard.type("overclaimed");
  await page.locator('.md-search a[href*="/glossary.html"]').first().click();
  await page.waitForURL(/glossary\.html/);
  assert.match(await page.getByRole("main").textContent(), /overclaimed/);
}
