// Text of subjects, and a lot of it.

import assert from "node:assert/strict";
import { becomes, detail, drawing, drawnEntries, entry, filter, open, shownCases, state, entryText, tooWide } from "./parts.mjs";

/** Opens everything that shows a text of the subject; the driver notices every script that runs and every request. */
export async function a_hostile_text_is_shown_and_does_nothing(page) {
  const title = await page.title();
  await open(page, "payment/hostile");
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  for (const number of await drawnEntries(page)) {
    await entry(page, number).focus();
    await entryText(page).getByText(`Entry ${number},`).waitFor();
  }
  for (const control of await page.locator("#detail :is(button:not(.copy), summary, pre), #list li > a").all()) {
    await control.hover();
    await control.focus();
  }
  await filter.text(page).fill("<script>");
  await becomes(page, async () => (await state(page)).text, "<script>");
  await filter.text(page).fill("");

  const found = await page.evaluate(() => ({
    made: document.querySelectorAll(
      "img, iframe, object, embed, base, svg svg, [onload], [onerror], [onfocus], [onmouseover], [autofocus]",
    ).length,
    scripts: document.scripts.length,
    styles: document.querySelectorAll("style").length,
    deceiving: /[\u0000\u001b\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/.test(document.body.textContent),
  }));
  assert.deepEqual(found, { made: 0, scripts: 2, styles: 1, deceiving: false });
  assert.equal(await page.title(), title);
  assert.ok(await drawing(page).isVisible());
}

export async function a_hostile_text_breaks_no_layout(page) {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    await page.reload();
    assert.deepEqual(await tooWide(page), [], `at ${width}`);
    await open(page, "payment/hostile");
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await entry(page, (await drawnEntries(page))[1]).focus();
    assert.deepEqual(await tooWide(page), [], `at ${width}, opened`);
    for (const part of [filter.text(page), filter.reset(page), detail(page), drawing(page)]) {
      assert.ok(await part.isVisible());
    }
  }
}

/** A text that looks like markup is found by what it says. */
export async function a_hostile_text_can_be_read(page) {
  await open(page, "payment/hostile");
  await detail(page).getByText("</script><script>alert(1)</script>").first().waitFor();
}

export async function five_thousand_trials_open_and_can_be_filtered(page) {
  assert.equal((await shownCases(page)).length, 0, "hundreds of cases are folded");
  await filter.outcome(page).selectOption("fail");
  await becomes(page, async () => (await shownCases(page)).length, 100);
  await filter.text(page).fill("n=990");
  await becomes(page, () => shownCases(page), ["payment/lost-reply@n=990"]);
  await open(page, "payment/lost-reply@n=990");
  await detail(page).getByRole("button", { name: "trial 5" }).click();
  await detail(page).getByRole("button", { name: "trial 5", pressed: true }).waitFor();
  assert.ok((await drawnEntries(page)).length > 5);
  await filter.reset(page).click();
  await filter.text(page).fill("e");
  await becomes(page, async () => (await shownCases(page)).length, 1_001);
}
