// The timeline of a trial: drawn when it is opened, with a text for each entry; the chosen finding highlights its
// entries.

import assert from "node:assert/strict";
import { becomes, detail, drawing, drawnEntries, entry, finding, lanes, highlightedEntries, open, state, entryText } from "./parts.mjs";

const lostReply = "payment/lost-reply@keys=none,reply=drop";
const lies = "payment/success-lies";

/** A reader who does not know hapax should see two commits, no reply to the first, and a claim of success. */
export async function a_double_charge_is_drawn(page) {
  await open(page, lostReply);
  assert.deepEqual(await lanes(page), ["caller 1", "payment"]);
  const said = await drawing(page)
    .locator("[data-n]")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  const count = (part) => said.filter((words) => words.includes(part)).length;
  assert.equal(count("committed payment.charge"), 2);
  assert.equal(count("no reply: the connection was closed"), 1);
  assert.equal(count("claimed done"), 1);
  const heights = await drawing(page)
    .locator("[data-n]")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
  assert.deepEqual(
    heights,
    heights.toSorted((one, other) => one - other),
    "time should go down",
  );
}

export async function the_entries_are_listed_beside_the_drawing(page) {
  await open(page, lostReply);
  for (const words of [
    "Derive the key from the order",
    "ConnectionError, trying again",
    "hapax replay",
    "Charged $49.99 for ord_1001.",
  ]) {
    assert.ok((await detail(page).textContent()).includes(words), words);
  }
}

export async function hovering_an_entry_shows_it(page) {
  await open(page, lostReply);
  for (const number of [3, 5, 6]) {
    await entry(page, number).hover();
    await entryText(page).getByText(`Entry ${number},`).waitFor();
  }
  await entry(page, 3).hover();
  await entryText(page).getByText("key a1f0").waitFor();
}

export async function focusing_an_entry_shows_it(page) {
  await open(page, lostReply);
  await entry(page, 5).focus();
  await entryText(page).getByText("Entry 5,").waitFor();
}

export async function choosing_a_finding_highlights_its_entries(page) {
  await open(page, lies);
  await becomes(page, () => highlightedEntries(page), [3, 4]);
  await finding(page, "overclaimed").click();
  await becomes(page, () => highlightedEntries(page), [6]);
  await page.reload();
  await becomes(page, () => highlightedEntries(page), [6]);
  await finding(page, "lost").click();
  await becomes(page, () => highlightedEntries(page), [3, 4]);
}

export async function a_kill_and_a_restart_are_drawn(page) {
  await open(page, "crash/after-commit");
  const said = await drawing(page).textContent();
  for (const words of ["killed", "started again (start 2)"]) assert.ok(said.includes(words), words);
}

export async function twelve_callers_and_a_thousand_entries_are_drawn(page) {
  await open(page, "concurrency/same-job@callers=12");
  assert.equal((await lanes(page)).length, 13);
  const drawn = await drawnEntries(page);
  assert.ok(drawn.length >= 1_000, `${drawn.length} entries`);
  const lit = await highlightedEntries(page);
  assert.equal(lit.length, 2);
  await entry(page, lit[1]).hover();
  await entryText(page).getByText(`Entry ${lit[1]},`).waitFor();
  const sizes = await entry(page, lit[1]).evaluate((row) => [
    row.getBoundingClientRect().width,
    row.getBoundingClientRect().height,
  ]);
  assert.ok(sizes.every((size) => size > 0));
}

export async function another_trial_of_the_case_can_be_chosen(page) {
  await open(page, "deploy/once");
  await detail(page).getByRole("button", { name: "trial 2" }).click();
  await becomes(page, async () => (await state(page)).trial, "2");
  await detail(page).getByRole("button", { name: "trial 2", pressed: true }).waitFor();
  await becomes(page, async () => (await detail(page).textContent()).includes("--trial 2"), true);
}

export async function the_request_and_the_reply_are_shown_on_demand(page) {
  await open(page, lostReply);
  assert.equal(await detail(page).getByText("POST /v1/charges").count(), 0);
  await entry(page, 3).click();
  await detail(page).getByRole("row", { name: "request POST /v1/charges" }).waitFor();
  await detail(page).getByRole("row", { name: "idempotency key a1f0" }).waitFor();
  await detail(page).getByRole("row", { name: "sent 0 bytes, not the whole answer" }).waitFor();
  await detail(page).getByRole("row", { name: "as sent POST /v1/charges authorization: [redacted 1] amount=4999" }).waitFor();
  await detail(page).getByRole("row", { name: "answer before the fault HTTP 200" }).waitFor();
  assert.match(await detail(page).locator(".exchange pre").last().textContent(), /\n\n\{\n  "object": "charge",\n  "amount": 4999\n\}$/);
}

export async function a_link_and_the_replay_command_can_be_copied(page) {
  await open(page, lostReply);
  for (const name of ["Copy link", "Copy replay command"]) {
    await detail(page).getByRole("button", { name }).click();
    await detail(page).getByRole("button", { name: "✓ copied" }).first().waitFor();
    await page.evaluate(() => {
      const field = document.createElement("textarea");
      field.id = "pasted";
      document.body.append(field);
      field.focus();
    });
    await page.keyboard.press("Control+V");
    const wanted = name === "Copy link" ? `#case=${encodeURIComponent(lostReply)}` : `hapax replay reports/sample '${lostReply}' --trial 1`;
    await becomes(page, async () => (await page.locator("#pasted").inputValue()).endsWith(wanted), true);
    await page.evaluate(() => document.getElementById("pasted").remove());
  }
}

export async function the_controls_are_explained_and_folded(page) {
  await open(page, lostReply);
  const about = detail(page).getByText("Controls are agents that hapax ships");
  assert.equal(await about.isVisible(), false);
  await detail(page).getByText("What the controls do in this case").click();
  await about.waitFor();
  await detail(page).getByRole("row", { name: "naive ✗ duplicated retries every failure" }).waitFor();
}

export async function the_standard_error_of_a_crash_is_open(page) {
  await open(page, "payment/crashed");
  assert.ok(await detail(page).getByText("Traceback: the reason of the crash").isVisible());
  assert.equal(await detail(page).getByText("printed before the crash").isVisible(), false);
}
