// Uses the charts of a page as a person would: node drive_charts.mjs PACKAGES < question.json > answer.json
// question: {page, width, screenshot, steps: [[what, ...]]}; answer: what each step told, and what the page said.
import { pathToFileURL } from "node:url";
import { answerWith, at, drag, hearDialogs, page, question, said, settle, sideways } from "../browser.mjs";

hearDialogs((text) => said.push(`dialog: ${text}`));
await page.goto(pathToFileURL(question.page).href);

const acts = {
  text: (selector) => page.locator(selector).first().textContent(),
  texts: (selector) => page.locator(selector).allTextContents(),
  count: (selector) => page.locator(selector).count(),
  attributes: ([selector, name]) => page.locator(selector).evaluateAll((all, key) => all.map((one) => one.getAttribute(key)), name),
  fill: ([selector, text]) => page.locator(selector).first().fill(text),
  select: ([selector, value]) => page.locator(selector).first().selectOption(value),
  click: (selector) => page.locator(selector).first().click(),
  focus: (selector) => page.locator(selector).first().focus(),
  press: (key) => page.keyboard.press(key),
  // Places are shares of the part's own box.
  click_at: async ([selector, place]) => page.mouse.click(...(await at(selector, place))),
  point_at: async ([selector, place]) => page.mouse.move(...(await at(selector, place))),
  drag,
  // Of each drawn part its box within the picture: [left, top, right, bottom].
  boxes: (selector) =>
    page.locator(selector).evaluateAll((all) => all.map((one) => one.getBBox()).map((box) => [box.x, box.y, box.x + box.width, box.y + box.height])),
  // How much larger or smaller a part is drawn than it is made.
  scales: (selector) => page.locator(selector).evaluateAll((all) => all.map((one) => one.getScreenCTM().a)),
  // What scrolls sideways in a box of its own: [its name, by how much]. Everything that folds is opened first.
  boxes_that_scroll: () =>
    page.evaluate(() => {
      for (const one of document.querySelectorAll("details")) one.open = true;
      return [...document.querySelectorAll("main *")]
        .filter((one) => !one.closest("svg") && ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
        .map((one) => [one.getAttribute("aria-label") ?? one.className, one.scrollWidth - one.clientWidth])
        .filter(([, over]) => over > 1);
    }),
  // The height of the smallest letters of any picture in sight, as they are drawn.
  smallest_letters: () =>
    page.evaluate(() => {
      const drawn = [...document.querySelectorAll("svg text")].filter((one) => one.getClientRects().length > 0);
      return Math.min(99, ...drawn.map((one) => parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a));
    }),
  // Words within the selected parts that stand on more than one line.
  broken_words: (selector) =>
    page.locator(selector).evaluateAll((all) => {
      const broken = [];
      for (const one of all) {
        const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          for (const word of walker.currentNode.data.matchAll(/[A-Za-z]+/g)) {
            const range = document.createRange();
            range.setStart(walker.currentNode, word.index);
            range.setEnd(walker.currentNode, word.index + word[0].length);
            if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
          }
        }
      }
      return broken;
    }),
  sideways,
  screenshot: (path) => page.screenshot({ path, fullPage: true }).then(() => path),
};
const answers = [];
for (const [what, ...words] of question.steps) {
  const answer = await acts[what](...words);
  await settle();
  answers.push(answer ?? null);
}
await answerWith({ answers, said });
