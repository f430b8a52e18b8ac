// The live page of `hapax serve`, with a payment service.

import assert from "node:assert/strict";
import { becomes, brokenWords, cell, tooWide } from "./parts.mjs";

const armedCell = "payment.charge now drop";

async function connected(page) {
  await page.getByRole("status").getByText("✓ connected").waitFor();
}

/** The address of the payment service, from the page. */
async function service(page) {
  return (await page.getByRole("row", { name: /^payment / }).locator("code").first().textContent()).trim();
}

/** Charges a customer, and returns the status; 0 if the connection was closed. */
async function charge(page, order) {
  const form = new URLSearchParams({ amount: "4999", currency: "usd", customer: "cus_42", "metadata[order]": order });
  const headers = { Authorization: "Bearer sk_test_x", "Content-Type": "application/x-www-form-urlencoded" };
  try {
    return (await fetch(`${await service(page)}/v1/charges`, { method: "POST", headers, body: form.toString() })).status;
  } catch {
    return 0;
  }
}

function entries(page) {
  return page.locator("#entries li");
}

/** The token is removed from the address, and kept for a reload. */
export async function the_live_page_shows_services_and_the_ledger_as_it_grows(page) {
  await connected(page);
  assert.equal(new URL(page.url()).hash, "");
  await page.getByText("Nothing was committed.").waitFor();
  assert.equal(await charge(page, "ord_<b>1</b>"), 200);
  await entries(page).getByText("committed payment.charge").waitFor();
  await entries(page).getByText("ord_<b>1</b>").first().waitFor();
  await page.getByRole("row", { name: /payment.charge .*once/ }).waitFor();
  await page.reload();
  await connected(page);
  await entries(page).getByText("committed payment.charge").waitFor();
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await tooWide(page), [], `at ${width}`);
    assert.deepEqual(await brokenWords(page, "main th, main .corner, main td.short, main button, main label"), [], `at ${width}`);
    await becomes(page, () => page.getByText("Scroll sideways for more replies").isVisible(), width === 390);
  }
}

/** The number above the ledger is that of the rows below it. */
async function counted(page) {
  const number = async () => Number(/^\d+/.exec(await page.locator("#count").textContent())?.[0]);
  await becomes(page, async () => (await number()) === (await entries(page).count()), true);
}

export async function a_cell_of_the_live_square_arms_and_clears_a_fault(page) {
  await connected(page);
  const drop = cell(page, armedCell);
  await drop.click();
  await becomes(page, () => drop.getAttribute("aria-pressed"), "true");
  await page.getByRole("listitem").getByText("payment.charge#1 commit=now reply=drop").waitFor();
  await drop.click();
  await becomes(page, () => drop.getAttribute("aria-pressed"), "false");
  await becomes(page, () => page.locator("#armed li").count(), 0);
  assert.equal(await charge(page, "ord_1"), 200);
  // By keyboard; then the fault is applied, and a second charge commits a duplicate.
  await drop.focus();
  await page.keyboard.press("Enter");
  await becomes(page, () => drop.getAttribute("aria-pressed"), "true");
  assert.equal(await charge(page, "ord_2"), 0);
  assert.equal(await charge(page, "ord_2"), 200);
  await becomes(page, () => drop.textContent(), "✓1");
  await page.getByRole("row", { name: /ord_2.*✗ 2 times/ }).waitFor();
  await entries(page).getByText("no reply: the connection was closed").waitFor();
}

export async function every_attempt_can_fail_until_all_faults_are_cleared(page) {
  await connected(page);
  await page.getByRole("combobox", { name: "For" }).selectOption("every attempt");
  await cell(page, "payment.charge never 503").click();
  await becomes(page, () => cell(page, "payment.charge never 503").getAttribute("aria-pressed"), "true");
  assert.deepEqual([await charge(page, "ord_1"), await charge(page, "ord_2")], [503, 503]);
  await page.getByRole("button", { name: "Clear all faults" }).click();
  await becomes(page, () => page.locator("#armed li").count(), 0);
  assert.equal(await charge(page, "ord_3"), 200);
}

export async function a_reset_empties_the_ledger_of_the_live_page(page) {
  await connected(page);
  assert.equal(await charge(page, "ord_1"), 200);
  await entries(page).getByText("committed payment.charge").waitFor();
  await counted(page);
  const reset = page.getByRole("button", { name: "Reset services and ledger", description: /is armed again/ });
  await reset.click();
  await becomes(page, () => entries(page).getByText("committed").count(), 0);
  await page.getByText("Nothing was committed.").waitFor();
  await counted(page);
  await page.getByText("the start of the ledger and closed connections are not shown").waitFor();
  assert.equal(await charge(page, "ord_9"), 200);
  await entries(page).getByText("ord_9").first().waitFor();
}

/** The page shows nothing without the token, and asks for it. */
export async function the_live_page_requires_the_token(page) {
  const field = page.getByLabel("Token");
  await field.waitFor();
  assert.equal(await page.getByRole("heading", { name: "Ledger" }).isVisible(), false);
  await field.fill("not-the-right-token");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByText("the token is missing or wrong").waitFor();
  assert.equal(await page.getByRole("heading", { name: "Ledger" }).isVisible(), false);
}

/** Nobody listens at the receiver of this page: each copy says so. */
export async function an_event_is_sent_again_out_of_order_or_signed_wrongly_from_the_live_page(page) {
  await connected(page);
  assert.equal(await charge(page, "ord_1"), 200);
  const row = page.locator("#events tr").first();
  await row.getByText("charge.succeeded").waitFor();
  await row.getByText("cannot connect").waitFor();
  await row.getByRole("button", { name: /^Send signed wrongly/ }).click();
  await row.getByText("signed wrongly: cannot connect").waitFor();
  await page.getByLabel("Hold new events").check();
  assert.equal(await charge(page, "ord_2"), 200);
  const held = page.locator("#events tr").filter({ hasText: "held" });
  await held.getByRole("button", { name: /^Send: / }).waitFor();
  await page.getByRole("button", { name: "Send all, newest first" }).click();
  await becomes(page, () => held.count(), 0);
}
