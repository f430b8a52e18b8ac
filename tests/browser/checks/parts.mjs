// Finds the parts of the page by role, label and data attribute. No other check knows how the page is built.

import assert from "node:assert/strict";

// The number of frames after which a check stops waiting.
const frames = 600;

/** Waits, frame by frame, until what is read equals what is wanted. */
export async function becomes(page, read, wanted) {
  let seen;
  for (let frame = 0; frame < frames; frame += 1) {
    seen = await read();
    try {
      assert.deepEqual(seen, wanted);
      return;
    } catch {
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }
  assert.deepEqual(seen, wanted);
}

/** The filters, by label. */
export const filter = {
  text: (page) => page.getByRole("searchbox", { name: "Text" }),
  outcome: (page) => page.getByRole("combobox", { name: "Outcome" }),
  tag: (page) => page.getByRole("combobox", { name: "Tag" }),
  service: (page) => page.getByRole("combobox", { name: "Service" }),
  sort: (page) => page.getByRole("combobox", { name: "Sort" }),
  reset: (page) => page.getByRole("button", { name: "Show all" }),
};

/** The link of a case, by the id that its address names. */
export function caseLink(page, id) {
  return page.locator(`#list a[href="#case=${encodeURIComponent(id)}"]`);
}

/** The ids of the cases that can be seen, skipped ones included, in order. */
export async function shownCases(page) {
  const links = page.locator("#list li:is([data-case], [data-skipped]) > a");
  return links.evaluateAll((all) =>
    all.filter((link) => link.checkVisibility()).map((link) => decodeURIComponent(link.hash.replace("#case=", ""))),
  );
}

/** A cell of a square, by its operation, what is committed, and what the caller sees. */
export function cell(page, key) {
  return page.locator(`[data-cell="${key}"]`);
}

/** A group of the list, such as `passed`. */
export function group(page, word) {
  return page.locator("#list details.group").filter({ has: page.getByRole("heading", { name: word }) });
}

/** What the address says after its `#`, as an object. */
export async function state(page) {
  return page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
}

/** The part of the page that tells of one case. */
export function detail(page) {
  return page.locator("#detail");
}

/** Opens a case with the mouse, and the group that it is in, and waits until it is shown. */
export async function open(page, id) {
  const link = page.locator(`a[href="#case=${encodeURIComponent(id)}"]`);
  const folded = page.locator("#list details.group:not([open])").filter({ has: link });
  if (await folded.count()) await folded.locator("> summary").click();
  await caseLink(page, id).click();
  await detail(page).getByRole("heading", { name: id }).waitFor();
}

/** The drawing of a trial, which scrolls where it is larger than its frame. */
export function drawing(page) {
  return detail(page).getByRole("region", { name: "Timeline" });
}

/** What is drawn for one entry of the ledger. */
export function entry(page, number) {
  return drawing(page).locator(`[data-n="${number}"]`);
}

/** The numbers of the entries that are drawn. */
export async function drawnEntries(page) {
  return drawing(page)
    .locator("[data-n]")
    .evaluateAll((all) => all.map((one) => Number(one.dataset.n)));
}

/** The numbers of the entries that are lit: those whose flag can be seen. */
export async function highlightedEntries(page) {
  return drawing(page)
    .locator("[data-n]")
    .evaluateAll((all) =>
      all
        .filter((one) => getComputedStyle(one.querySelector(".flag")).visibility === "visible")
        .map((one) => Number(one.dataset.n)),
    );
}

/** The names at the heads of the lanes, from left to right. */
export async function lanes(page) {
  return drawing(page).locator("text.head:not(.under)").allTextContents();
}

/** The words of the entry that is looked at. */
export function entryText(page) {
  return detail(page).getByRole("status");
}

/** The findings of the trial that is shown, as buttons. */
export function finding(page, kind) {
  return detail(page).getByRole("button", { name: kind });
}

/** Whether the one thing that has the focus is this. */
export async function hasFocus(locator) {
  return locator.evaluate((node) => node === document.activeElement);
}

/** The short words in the parts of the page with this selector that are broken over several lines. */
export async function brokenWords(page, selector) {
  return page.locator(selector).evaluateAll((all) => {
    const broken = [];
    for (const one of all.filter((part) => part.checkVisibility())) {
      const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        for (const { 0: word, index } of texts.currentNode.data.matchAll(/[\p{L}\p{N}]{2,20}/gu)) {
          const range = document.createRange();
          range.setStart(texts.currentNode, index);
          range.setEnd(texts.currentNode, index + word.length);
          if (new Set([...range.getClientRects()].map((box) => box.top)).size > 1) broken.push(word);
        }
      }
    }
    return broken;
  });
}

/** What is wider than the window, where something makes it scroll sideways. */
export async function tooWide(page) {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    const wide = [...document.querySelectorAll("body, body *")].filter(
      (one) => one.getBoundingClientRect().right > clientWidth + 1,
    );
    return [
      `${scrollWidth} > ${clientWidth}`,
      ...wide.slice(0, 8).map((one) => `${one.tagName} #${one.id} .${one.getAttribute("class")}`),
    ];
  });
}
