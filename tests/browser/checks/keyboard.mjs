// Everything that the mouse can do, with the keyboard.

import assert from "node:assert/strict";
import {
  becomes,
  caseLink,
  detail,
  entry,
  filter,
  finding,
  hasFocus,
  highlightedEntries,
  open,
  shownCases,
  state,
  entryText,
} from "./parts.mjs";

const lies = "payment/success-lies";
const reached = 'a[href], button, input, select, summary, [tabindex="0"]';

export async function tab_reaches_everything_in_order(page) {
  await page.evaluate((reached) => {
    const all = [...document.querySelectorAll(reached)].filter((one) => one.checkVisibility() && !one.disabled);
    window.due = new Set(all);
    window.due.count = all.length;
  }, reached);
  const due = await page.evaluate(() => window.due.count);
  assert.ok(due > 20, `${due} things to reach`);
  const unseen = [];
  for (let step = 0; step < due; step += 1) {
    await page.keyboard.press("Tab");
    const focus = await page.evaluate(() => {
      const has = document.activeElement;
      window.due.delete(has);
      const style = getComputedStyle(has.querySelector(":scope > .band") ?? has);
      const box = has.getBoundingClientRect();
      const isIn = box.bottom > 0 && box.top < innerHeight && box.right > 0;
      const isMarked =
        (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || (style.stroke !== "none" && style.stroke !== "");
      return { what: `${has.tagName} ${has.textContent.trim().slice(0, 60)}`, isSeen: isIn && isMarked };
    });
    if (!focus.isSeen) unseen.push(focus.what);
  }
  const missed = await page.evaluate(() => [...window.due].map((one) => `${one.tagName} ${one.textContent.trim().slice(0, 60)}`));
  assert.deepEqual(missed, [], "not reached");
  assert.deepEqual(unseen, [], "reached, but nothing shows it");
}

export async function enter_opens_a_case_and_escape_goes_back_to_it(page) {
  await caseLink(page, lies).focus();
  await page.keyboard.press("Enter");
  const heading = detail(page).getByRole("heading", { name: lies });
  await becomes(page, () => hasFocus(heading), true);
  assert.equal((await state(page)).case, lies);
  await page.keyboard.press("Escape");
  await becomes(page, () => hasFocus(caseLink(page, lies)), true);
}

export async function arrows_go_from_case_to_case_and_skip_hidden_ones(page) {
  await filter.outcome(page).selectOption("fail");
  const shown = await shownCases(page);
  assert.equal(shown.length, 4);
  await caseLink(page, shown[0]).focus();
  for (const id of shown.slice(1)) {
    await page.keyboard.press("ArrowRight");
    await becomes(page, () => hasFocus(caseLink(page, id)), true);
  }
  await page.keyboard.press("ArrowDown");
  assert.ok(await hasFocus(caseLink(page, shown[3])), "there is nothing after the last");
  await page.keyboard.press("ArrowUp");
  await becomes(page, () => hasFocus(caseLink(page, shown[2])), true);
}

export async function a_slash_goes_to_the_text_filter(page) {
  await page.keyboard.press("/");
  await becomes(page, () => hasFocus(filter.text(page)), true);
  await page.keyboard.type("a/b");
  assert.equal(await filter.text(page).inputValue(), "a/b");
}

export async function the_filters_work_by_keyboard(page) {
  await filter.text(page).focus();
  await page.keyboard.type("lies");
  await becomes(page, () => shownCases(page), [lies]);
  await becomes(page, () => state(page), { text: "lies" });
  await filter.reset(page).focus();
  await page.keyboard.press("Enter");
  await becomes(page, async () => (await shownCases(page)).length, 5);
  await filter.tag(page).focus();
  await page.keyboard.type("cra");
  await becomes(page, () => shownCases(page), ["crash/after-commit"]);
}

export async function arrows_go_through_the_timeline(page) {
  await open(page, lies);
  await entry(page, 2).focus();
  for (const number of [3, 4, 5]) {
    await page.keyboard.press("ArrowDown");
    await entryText(page).getByText(`Entry ${number},`).waitFor();
    assert.ok(await hasFocus(entry(page, number)));
  }
  await page.keyboard.press("ArrowUp");
  await entryText(page).getByText("Entry 4,").waitFor();
}

export async function enter_shows_the_request_and_the_reply_of_an_entry(page) {
  await open(page, lies);
  await entry(page, 3).focus();
  await page.keyboard.press("Enter");
  await detail(page).getByRole("cell", { name: "POST /v1/charges", exact: true }).waitFor();
  await detail(page).getByRole("row", { name: "sent 812 bytes, the whole answer" }).waitFor();
}

export async function a_finding_is_chosen_by_keyboard_and_keeps_the_focus(page) {
  await open(page, lies);
  await finding(page, "overclaimed").focus();
  await page.keyboard.press("Enter");
  await becomes(page, () => highlightedEntries(page), [6]);
  assert.ok(await hasFocus(finding(page, "overclaimed")));
}

export async function a_trial_is_chosen_by_keyboard_and_keeps_the_focus(page) {
  await open(page, "deploy/once");
  await detail(page).getByRole("button", { name: "trial 2" }).focus();
  await page.keyboard.press("Enter");
  const chosen = detail(page).getByRole("button", { name: "trial 2", pressed: true });
  await chosen.waitFor();
  assert.ok(await hasFocus(chosen));
}

/** Enter moves to the details of the first case, an arrow key to its place in the list. */
export async function keys_in_the_text_filter_open_the_first_case(page) {
  const heading = detail(page).getByRole("heading", { name: lies });
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [key, focused] of [["Enter", heading], ["ArrowDown", caseLink(page, lies)]]) {
      await filter.reset(page).click();
      await open(page, "crash/after-commit");
      await filter.text(page).fill("lies");
      await filter.text(page).press(key);
      await becomes(page, () => state(page), { text: "lies", case: lies });
      await becomes(page, () => hasFocus(focused), true);
    }
  }
  await filter.text(page).fill("no case has this");
  await filter.text(page).press("Enter");
  assert.ok(await hasFocus(filter.text(page)));
}

/** Also where the list is much taller than the window. */
export async function the_skip_link_leads_to_the_heading_of_the_cases(page) {
  // The list is taller than the window.
  await page.locator("#list .group[data-group=fail] summary").first().click();
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByRole("link", { name: "To the cases" }).focus();
    await page.keyboard.press("Enter");
    const top = () => page.getByRole("heading", { name: "Cases", exact: true }).evaluate((one) => one.getBoundingClientRect().top);
    await becomes(page, async () => (await top()) >= 0 && (await top()) < 60, true);
    assert.ok(await page.locator("#list").evaluate((one) => one === document.activeElement));
  }
}

/** The first stop leads past the head to the cases, and leaves the filters as they are. */
export async function the_skip_link_keeps_the_filters(page) {
  await filter.tag(page).selectOption("reads");
  const before = await state(page);
  await page.getByRole("link", { name: "To the cases" }).focus();
  await page.keyboard.press("Enter");
  // The first stop is the head of the group.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await becomes(page, () => hasFocus(caseLink(page, "payment/verified@n=1")), true);
  assert.deepEqual(await state(page), before);
  assert.equal((await shownCases(page)).length, 4);
}
