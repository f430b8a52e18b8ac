// Filters choose the visible cases, and the address keeps them.

import assert from "node:assert/strict";
import { becomes, caseLink, cell, detail, filter, group, open, shownCases, state } from "./parts.mjs";

const passes = [1, 2, 3, 4].map((number) => `payment/verified@n=${number}`);
const lostReply = "payment/lost-reply@keys=none,reply=drop";
const sameJob = "concurrency/same-job@callers=12";

export async function a_tag_shows_only_its_cases(page) {
  await filter.tag(page).selectOption("reads");
  await becomes(page, () => shownCases(page), passes);
  assert.deepEqual(await state(page), { tag: "reads" });
}

export async function an_outcome_shows_only_its_cases(page) {
  await filter.outcome(page).selectOption("duplicated");
  await becomes(page, () => shownCases(page), [sameJob, "crash/after-commit", lostReply]);
  await filter.outcome(page).selectOption("void");
  await becomes(page, () => shownCases(page), ["payment/second-reply@reply=reset"]);
  await filter.outcome(page).selectOption("skipped");
  await becomes(page, () => shownCases(page), ["email/lost-reply"]);
  assert.deepEqual(await state(page), { outcome: "skipped" });
}

export async function a_service_shows_only_its_cases(page) {
  await filter.service(page).selectOption("deploy");
  await becomes(page, () => shownCases(page), ["deploy/once"]);
  assert.deepEqual(await state(page), { service: "deploy" });
}

export async function a_text_shows_only_the_cases_that_contain_it(page) {
  await filter.text(page).fill("LIES");
  await becomes(page, () => shownCases(page), ["payment/success-lies"]);
  await becomes(page, () => state(page), { text: "LIES" });
  await filter.text(page).fill("no case has this");
  await becomes(page, () => shownCases(page), []);
  await page.getByText("No case matches these filters.").waitFor();
}

export async function filters_combine_and_can_be_reset(page) {
  const all = await shownCases(page);
  assert.equal(all.length, 5, "passes and skipped cases are folded");
  await filter.tag(page).selectOption("payment");
  await filter.outcome(page).selectOption("fail");
  await becomes(page, () => shownCases(page), [lostReply, "payment/success-lies"]);
  await filter.text(page).fill("lost-reply");
  await becomes(page, () => shownCases(page), [lostReply]);
  await filter.reset(page).click();
  await becomes(page, () => shownCases(page), all);
  await becomes(page, () => state(page), {});
}

export async function the_worst_case_is_open_at_first_unless_filters_hide_it(page) {
  const heading = detail(page).getByRole("heading", { name: sameJob });
  await heading.waitFor();
  await filter.tag(page).selectOption("reads");
  await heading.waitFor({ state: "hidden" });
  await filter.reset(page).click();
  await heading.waitFor();
}

export async function the_number_of_visible_cases_is_shown(page) {
  await filter.tag(page).selectOption("reads");
  await page
    .getByRole("status")
    .getByText(/\b4 of 11\b/)
    .waitFor();
}

export async function a_reload_keeps_filters_and_the_open_case(page) {
  await filter.tag(page).selectOption("payment");
  await filter.outcome(page).selectOption("fail");
  await open(page, lostReply);
  const before = { shown: await shownCases(page), state: await state(page) };
  assert.deepEqual(before.state, { tag: "payment", outcome: "fail", case: lostReply });
  await page.reload();
  await becomes(page, async () => ({ shown: await shownCases(page), state: await state(page) }), before);
  assert.equal(await filter.tag(page).inputValue(), "payment");
  assert.equal(await filter.outcome(page).inputValue(), "fail");
  await detail(page).getByRole("heading", { name: lostReply }).waitFor();
}

export async function going_back_undoes_the_last_step(page) {
  await open(page, lostReply);
  await open(page, sameJob);
  await page.goBack();
  await detail(page).getByRole("heading", { name: lostReply }).waitFor();
  assert.equal((await state(page)).case, lostReply);
}

export async function a_link_to_a_case_leads_to_it(page) {
  const address = page.url().split("#")[0];
  await page.goto("about:blank");
  await page.goto(`${address}#case=${encodeURIComponent(lostReply)}`);
  const top = () => detail(page).evaluate((one) => one.getBoundingClientRect().top);
  await becomes(page, async () => (await top()) >= 0 && (await top()) < 300, true);
  const isSeen = () =>
    caseLink(page, lostReply).evaluate((one) => {
      const { top, bottom } = one.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });
  await becomes(page, isSeen, true);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.reload();
  await becomes(page, async () => (await top()) >= 0 && (await top()) < 300 && (await isSeen()), true);
}

export async function what_to_fix_first_links_to_its_case_even_if_filters_hide_it(page) {
  await filter.tag(page).selectOption("reads");
  const fixes = page.getByRole("region", { name: "What to fix first" });
  await fixes.getByText(/other cases?$/).first().click();
  await fixes.getByRole("link", { name: lostReply }).click();
  await detail(page).getByRole("heading", { name: lostReply }).waitFor();
  assert.ok(await caseLink(page, lostReply).isVisible());
  assert.deepEqual(await state(page), { case: lostReply });
}

export async function an_address_with_unknown_names_does_no_harm(page) {
  const address = page.url().split("#")[0];
  for (const hash of [
    "case=no/such@case",
    "tag=none&outcome=?&service=%00",
    "%E0%A4%A",
    "&&==&case",
    "__proto__=1&constructor=2",
  ]) {
    await page.goto("about:blank");
    await page.goto(`${address}#${hash}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
  }
  await page.goto("about:blank");
  await page.goto(address);
  await caseLink(page, lostReply).waitFor();
}

export async function a_link_to_an_unknown_case_says_so(page) {
  const address = page.url().split("#")[0];
  const message = page.getByRole("alert");
  assert.equal(await message.count(), 0);
  for (const id of ["nonexistent", "<b>`x`</b>"]) {
    await page.goto("about:blank");
    await page.goto(`${address}#case=${encodeURIComponent(id)}`);
    await becomes(page, () => message.textContent(), `This run has no case ${id}.`);
    assert.equal(await message.locator("code").textContent(), id);
    const top = () => message.evaluate((one) => one.getBoundingClientRect().top);
    await becomes(page, async () => (await top()) > 0 && (await top()) < 900, true);
  }
  await open(page, lostReply);
  assert.equal(await message.count(), 0);
}

export async function filters_open_the_first_case_that_they_show(page) {
  await cell(page, "payment.charge never ok").click();
  await detail(page).getByRole("heading", { name: "payment/success-lies" }).waitFor();
  assert.deepEqual(await state(page), { cell: "payment.charge never ok" });
  await filter.reset(page).click();
  await filter.tag(page).selectOption("reads");
  await detail(page).getByRole("heading", { name: passes[0] }).waitFor();
  await filter.text(page).fill("no case has this");
  await detail(page).waitFor({ state: "hidden" });
}

export async function a_cell_of_a_square_shows_only_its_cases(page) {
  const lies = cell(page, "payment.charge never ok");
  await lies.click();
  await becomes(page, () => shownCases(page), ["payment/success-lies"]);
  assert.deepEqual(await state(page), { cell: "payment.charge never ok" });
  assert.equal(await lies.getAttribute("aria-pressed"), "true");
  await lies.focus();
  await page.keyboard.press("Enter");
  await becomes(page, async () => (await shownCases(page)).length, 5);
  await cell(page, "payment.charge now drop").focus();
  await page.keyboard.press("Space");
  await becomes(page, async () => (await shownCases(page)).length, 9);
  await page.getByRole("button", { name: "only payment.charge now drop" }).click();
  await becomes(page, () => state(page), {});
}

export async function failures_come_first_and_passes_are_folded(page) {
  await becomes(page, () => shownCases(page), [
    sameJob,
    "crash/after-commit",
    lostReply,
    "payment/success-lies",
    "payment/second-reply@reply=reset",
  ]);
  await group(page, "5 passed").locator("summary").click();
  await becomes(page, async () => (await shownCases(page)).length, 10);
}

export async function the_list_can_be_sorted(page) {
  await filter.outcome(page).selectOption("fail");
  await filter.sort(page).selectOption("name");
  await becomes(page, () => shownCases(page), [sameJob, "crash/after-commit", lostReply, "payment/success-lies"]);
  await filter.sort(page).selectOption("slow");
  await becomes(page, async () => (await shownCases(page))[0], "payment/success-lies");
  assert.deepEqual(await state(page), { outcome: "fail", sort: "slow" });
  await caseLink(page, "payment/success-lies").getByText("2.0 s").waitFor();
}
