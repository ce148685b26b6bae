// What the drivers of pages share: node DRIVER PACKAGES < question.json > answer.json, one page of a real Chromium, and
// what it said meanwhile. Only what the page did is told, nothing is judged.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`));
const { chromium } = require("playwright-core");
export const question = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath: question.chromium, args: ["--no-sandbox"] });
export const page = await browser.newPage({
  viewport: { width: question.width ?? 1280, height: 900 },
  colorScheme: question.scheme ?? "light",
  javaScriptEnabled: question.scripts ?? true,
});
export const said = [];
page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", (error) => said.push(`uncaught: ${error.message}`));

export const hearDialogs = (tell) =>
  page.on("dialog", async (dialog) => {
    tell(dialog.message());
    await dialog.dismiss();
  });
// What changes is drawn before the next picture.
export const settle = () =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
// Through the debugger's door: the page's policy would keep a script tag out.
export const audit = async () => {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  return { violations: violations.map((rule) => `${rule.id}: ${rule.nodes.map((node) => node.html.slice(0, 200)).join(" | ")}`), passes };
};
export const sideways = () => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

// Places are shares of a part's own box.
export const at = async (selector, [x, y]) => {
  const part = page.locator(selector).first();
  await part.scrollIntoViewIfNeeded();
  const box = await part.boundingBox();
  return [box.x + box.width * x, box.y + box.height * y];
};
export const drag = async ([selector, from, to]) => {
  await page.mouse.move(...(await at(selector, from)));
  await page.mouse.down();
  await page.mouse.move(...(await at(selector, to)), { steps: 5 });
  await page.mouse.up();
};

export const answerWith = async (told) => {
  await browser.close();
  process.stdout.write(JSON.stringify(told));
};
