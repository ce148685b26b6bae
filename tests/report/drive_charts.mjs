// Uses the charts of a page as a person would: node drive_charts.mjs PACKAGES < question.json > answer.json
// question: {page, width, screenshot, steps: [[what, ...]]}; answer: what each step told, and what the page said.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`));
const { chromium } = require("playwright-core");
const question = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath: question.chromium, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: question.width, height: 900 } });
const said = [];
page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", (error) => said.push(`uncaught: ${error.message}`));
page.on("dialog", async (dialog) => {
  said.push(`dialog: ${dialog.message()}`);
  await dialog.dismiss();
});
await page.goto(pathToFileURL(question.page).href);

const settle = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
const at = async (selector, [x, y]) => {
  const part = page.locator(selector).first();
  await part.scrollIntoViewIfNeeded();
  const box = await part.boundingBox();
  return [box.x + box.width * x, box.y + box.height * y];
};
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
  drag: async ([selector, from, to]) => {
    await page.mouse.move(...(await at(selector, from)));
    await page.mouse.down();
    await page.mouse.move(...(await at(selector, to)), { steps: 5 });
    await page.mouse.up();
  },
  // Of each drawn part its box within the picture: [left, top, right, bottom].
  boxes: (selector) =>
    page.locator(selector).evaluateAll((all) => all.map((one) => one.getBBox()).map((box) => [box.x, box.y, box.x + box.width, box.y + box.height])),
  // How much larger or smaller a part is drawn than it is made.
  scales: (selector) => page.locator(selector).evaluateAll((all) => all.map((one) => one.getScreenCTM().a)),
  sideways: () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
  screenshot: (path) => page.screenshot({ path, fullPage: true }).then(() => path),
};
const answers = [];
for (const [what, ...words] of question.steps) {
  const answer = await acts[what](...words);
  await settle();
  answers.push(answer ?? null);
}
await browser.close();
process.stdout.write(JSON.stringify({ answers, said }));
