// Light, dark, on paper and on a small screen.

import assert from "node:assert/strict";
import { becomes, brokenWords, detail, drawing, filter, open, shownCases, tooWide } from "./parts.mjs";

const lostReply = "payment/lost-reply@keys=none,reply=drop";
const sameJob = "concurrency/same-job@callers=12";

export async function light_can_be_read(page) {
  await page.emulateMedia({ colorScheme: "light" });
  await open(page, lostReply);
  assert.ok((await ground(page)) > 0.8);
  assert.deepEqual(await faint(page), []);
}

export async function dark_can_be_read(page) {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, lostReply);
  assert.ok((await ground(page)) < 0.1);
  assert.deepEqual(await faint(page), []);
}

/** For pages of any kind: light and dark, wide and narrow. */
export async function a_page_can_be_read_everywhere(page) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faint(page), [], colorScheme);
  }
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    assert.deepEqual(await tooWide(page), [], `at ${width}`);
  }
}

/** Rows are stacked where the window is narrow, so that columns are never a letter wide. Only a long id may break. */
export async function the_words_of_a_comparison_do_not_break(page) {
  for (const width of [360, 390, 800, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    assert.deepEqual(await brokenWords(page, "main thead th, main td, dt"), [], `at ${width}`);
    const ids = page.locator("main th[scope=row]");
    const narrow = await ids.evaluateAll((all) => all.filter((one) => one.clientWidth < 140).map((one) => one.textContent));
    assert.deepEqual(narrow, [], `at ${width}`);
    if (width > 768) assert.deepEqual(await wrapped(page, "main th[scope=col], main td.short"), [], `at ${width}`);
  }
}

/** The texts of the parts with this selector that take more than one line. */
async function wrapped(page, selector) {
  return page.locator(selector).evaluateAll((all) =>
    all
      .filter((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const boxes = [...range.getClientRects()];
        return boxes.some((box) => box.top >= boxes[0].bottom);
      })
      .map((one) => one.textContent),
  );
}

/** A square that is cut off says so, and only such a square. */
export async function a_square_that_scrolls_says_so(page) {
  const cue = page.getByText("Scroll sideways for more replies").first();
  const square = page.locator("table.square").first();
  // Few replies fit everywhere, so the space for them is made smaller.
  for (const [space, isCut] of [["", false], ["5rem", true], ["", false]]) {
    await square.evaluate((one, space) => (one.style.maxWidth = space), space);
    await becomes(page, () => cue.isVisible(), isCut);
  }
}

/** Colours say nothing that words do not say as well. */
export async function every_case_shows_its_outcome_in_words(page) {
  const words = await page.locator("#list li:is([data-case], [data-skipped]) > a").allTextContents();
  assert.equal(words.length, 11);
  for (const said of words) assert.match(said, /(pass|void|skipped|lost|duplicated)/);
}

export async function paper_has_all_of_the_timeline_and_no_controls(page) {
  await open(page, sameJob);
  // A page of A4, in dark mode.
  await page.setViewportSize({ width: 718, height: 1000 });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  assert.ok((await ground(page)) > 0.8, "paper is white");
  assert.deepEqual(await faint(page), []);
  assert.equal(await filter.text(page).isVisible(), false);
  assert.equal((await shownCases(page)).length, 11);
  assert.deepEqual(await tooWide(page), []);
  const frame = await drawing(page).evaluate((one) => {
    const pictures = [...one.querySelectorAll("svg")].map((picture) => picture.getBoundingClientRect());
    return {
      isCut: one.scrollHeight > one.clientHeight + 1,
      fits: pictures.every(({ right, height }) => right <= innerWidth && height > 0),
    };
  });
  assert.deepEqual(frame, { isCut: false, fits: true });
}

export async function a_small_screen_scrolls_in_one_direction_only(page) {
  for (const width of [360, 768, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    for (const id of [lostReply, sameJob]) {
      await open(page, id);
      assert.deepEqual(await tooWide(page), [], `${id} at ${width}`);
      assert.ok(await detail(page).isVisible());
    }
  }
}

/** How light the ground of the page is, from 0 to 1. */
async function ground(page) {
  return page.evaluate(() => {
    const [red, green, blue] = getComputedStyle(document.body)
      .backgroundColor.match(/[\d.]+/g)
      .map((part) => Number(part) / 255);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  });
}

/** The texts that stand out from their ground by less than the 4.5 to 1 that WCAG asks for. */
async function faint(page) {
  return page.evaluate(() => {
    const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
    const isClear = (colour) => !colour.startsWith("rgb") || parts(colour)[3] === 0;
    const light = (colour) => {
      const [red, green, blue] = parts(colour).map((part) =>
        part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
      );
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const groundOf = (one) => {
      for (let at = one; at; at = at.parentElement) {
        const band = at.querySelector(":scope > .band");
        const colours = [getComputedStyle(at).backgroundColor, ...(band ? [getComputedStyle(band).fill] : [])];
        const found = colours.findLast((colour) => !isClear(colour));
        if (found) return found;
      }
      return "rgb(255, 255, 255)";
    };
    const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const shown = [...document.querySelectorAll("body *:not(script, option)")].filter(
      (one) => hasText(one) && one.checkVisibility(),
    );
    const ratios = shown.map((one) => {
      const style = getComputedStyle(one);
      const [ink, paper] = [light(one instanceof SVGElement ? style.fill : style.color), light(groundOf(one))];
      return [
        (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05),
        `${one.tagName} .${one.getAttribute("class")} ${one.textContent.slice(0, 40)}`,
      ];
    });
    return ratios.filter(([ratio]) => ratio < 4.5).map(([ratio, what]) => `${ratio.toFixed(2)} ${what}`);
  });
}

/** The text of each entry is in the window, also with twelve callers. */
export async function a_phone_shows_the_words_of_the_timeline(page) {
  await page.setViewportSize({ width: 390, height: 800 });
  for (const id of [lostReply, sameJob]) {
    await open(page, id);
    const cut = await drawing(page).evaluate((frame) => {
      const { left, right } = frame.getBoundingClientRect();
      const texts = [...frame.querySelectorAll("svg text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
      return texts.filter(([, box]) => box.left < left || box.right > right || box.width === 0).map(([words]) => words);
    });
    assert.deepEqual(cut, [], id);
  }
  await drawing(page).getByText("committed payment.charge").first().waitFor();
}

/** Names of lanes do not overlap, and times have microseconds. */
export async function twelve_callers_can_be_told_apart(page) {
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    await open(page, sameJob);
    const overlapping = await drawing(page).evaluate((frame) => {
      const heads = [...frame.querySelectorAll(".heads text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
      const meet = (one, other) =>
        one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 4 && other.top < one.bottom - 4;
      return heads.flatMap(([name, box], place) =>
        heads.slice(place + 1).filter(([, other]) => meet(box, other)).map(([other]) => `${name} ${other}`),
      );
    });
    assert.deepEqual(overlapping, [], `at ${width}`);
    assert.match(await drawing(page).textContent(), /\d\.\d{3} ms/);
  }
}

/** A cell of a square has a shape and a number, and its name says the same in words. */
export async function every_cell_of_a_square_has_a_shape_and_words(page) {
  const cells = await page.locator("[data-cell]").evaluateAll((all) => all.map((one) => [one.textContent, one.ariaLabel]));
  assert.ok(cells.length >= 2);
  for (const [shown, words] of cells) {
    assert.match(shown, /^[✗○✓–]\d+(\/\d+)?$/);
    assert.match(words, /: \d+ failed, \d+ void, \d+ passed/);
  }
}

/** What to fix comes first, and the list of hundreds of cases does not make the page long. */
export async function hundreds_of_cases_fit_a_few_screens(page) {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    await page.setViewportSize({ width, height });
    const tall = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(tall < 8 * height, `${tall} pixels at ${width}`);
  }
  const isBefore = await page.evaluate(() => {
    const squares = document.querySelector(".squares");
    return Boolean(document.getElementById("causes").compareDocumentPosition(squares) & Node.DOCUMENT_POSITION_FOLLOWING);
  });
  assert.ok(isBefore, "what to fix comes before the squares");
  await page.locator("#list .group[data-group=fail] summary").first().click();
  assert.ok((await shownCases(page)).length > 0);
}
