// Uses the local page in Chromium: node drive.mjs PACKAGES < question.json > answer.json
// question: {address, width, scheme, steps: [[what, ...]]}; answer: what each step told, and what the page did meanwhile.
import { answerWith, at, audit, drag, hearDialogs, page, question, said, settle, sideways } from "../browser.mjs";

const elsewhere = [];
hearDialogs((text) => said.push(`dialog: ${text}`));
page.on("request", (request) => {
  const url = request.url();
  if (!url.startsWith(question.address) && !url.startsWith("data:")) elsewhere.push(url);
});

const shown = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("table.index tbody tr")].filter((row) => row.dataset.run && !row.hidden).map((row) => row.dataset.run),
  );
const acts = {
  open: (path) => page.goto(question.address + path),
  press: (key) => page.keyboard.press(key),
  type: (text) => page.keyboard.type(text),
  click: (selector) => page.locator(selector).first().click(),
  wait: (selector) => page.locator(selector).first().waitFor({ timeout: 60000, state: "attached" }).then(() => true),
  wait_text: ([selector, text]) =>
    page
      .waitForFunction(
        ([wanted, words]) => [...document.querySelectorAll(wanted)].some((one) => one.textContent.includes(words)),
        [selector, text],
        { timeout: 60000 },
      )
      .then(() => true),
  text: (selector) => page.locator(selector).first().innerText(),
  rows: shown,
  url: () => page.url().slice(question.address.length),
  focused: () => page.evaluate(() => document.activeElement.closest("tr")?.dataset.run ?? document.activeElement.tagName),
  count: (selector) => page.locator(selector).count(),
  attribute: ([selector, name]) => page.locator(selector).first().getAttribute(name),
  fetch: (url) =>
    page.evaluate(
      (wanted) =>
        fetch(wanted)
          .then((answer) => answer.text())
          .catch((error) => `refused: ${error.message}`),
      url,
    ),
  texts: (selector) => page.locator(selector).allTextContents(),
  focus: (selector) => page.locator(selector).first().focus(),
  choose: ([selector, value]) => page.locator(selector).first().selectOption(value).then(() => null),
  // Places are shares of the part's own box.
  point: async ([selector, place]) => page.mouse.move(...(await at(selector, place))),
  drag,
  settle: () => settle().then(() => null),
  // Parts in sight that lie outside of the window, or hold more than they show.
  cut: (selector) =>
    page.locator(selector).evaluateAll((all) =>
      all
        .filter((part) => part.getClientRects().length > 0 && !part.querySelector(":scope > .unseen"))
        .filter((part) => {
          const box = part.getBoundingClientRect();
          return box.left < 0 || box.right > document.documentElement.clientWidth + 1 || part.scrollWidth > part.clientWidth + 1;
        })
        .filter((part) => getComputedStyle(part).display !== "inline")
        .map((part) => part.outerHTML.slice(0, 160)),
    ),
  screenshot: (path) => page.screenshot({ path, fullPage: true }).then(() => path),
  axe: async () => (await audit()).violations,
  sideways,
  resize: (width) => page.setViewportSize({ width, height: 900 }).then(settle).then(() => null),
};
const answers = [];
for (const [what, ...words] of question.steps) {
  const answer = await acts[what](...words);
  answers.push(what === "open" ? (answer?.status() ?? 0) : (answer ?? null));
}
await answerWith({ answers, said, elsewhere });
