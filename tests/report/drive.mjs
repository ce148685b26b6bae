// Opens a page in Chromium and tells what happened: node drive.mjs PACKAGES < question.json > answer.json
// question: {page, width, scheme, screenshot}; answer: see the end. Only what the page did is told, nothing is judged.
import { pathToFileURL } from "node:url";
import { answerWith, audit, hearDialogs, page, question, said, sideways } from "../browser.mjs";

const address = pathToFileURL(question.page).href;
const requests = [];
const dialogs = [];
page.on("request", (request) => requests.push(request.url()));
hearDialogs((text) => dialogs.push(text));
await page.goto(address);
if (question.screenshot) await page.screenshot({ path: question.screenshot, fullPage: true });

// What the tab key reaches, until it comes round.
const reached = [];
for (let i = 0; i < 200; ++i) {
  await page.keyboard.press("Tab");
  const element = await page.evaluate(() => {
    const active = document.activeElement;
    if (active === document.body) return null;
    const style = getComputedStyle(active);
    return { tag: active.tagName, type: active.type ?? "", outlined: style.outlineStyle !== "none" };
  });
  if (element === null) break;
  reached.push(element);
}

// The first timeline by keyboard, and a closed table.
let moved = null;
const slider = page.locator("figure.timeline input[type=range]").first();
if (await slider.count()) {
  const output = page.locator("figure.timeline output").first();
  const before = await output.textContent();
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  const after = await output.textContent();
  await page.keyboard.press("End");
  const place = await page.locator("figure.timeline .cursor").first().getAttribute("x1");
  moved = { before, after, last: await output.textContent(), place: Number(place) };
}
let pointed = null;
const chart = page.locator("figure.timeline svg.chart:visible").first();
if (await chart.count()) {
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  await page.mouse.move(box.x + 100, box.y + box.height / 2);
  pointed = await page.locator("figure.timeline output").first().textContent();
}
let opened = null;
const summary = page.locator("summary").first();
if (await summary.count()) {
  await summary.focus();
  await page.keyboard.press("Enter");
  opened = await page.locator("details").first().evaluate((part) => part.open);
}

await page.evaluate(() => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
const { violations, passes } = await audit();
const overhang = await sideways();
const printed = (await page.pdf({ format: "A4" })).length;
const headings = await page.evaluate(() =>
  [...document.querySelectorAll("h1,h2,h3,h4")].map((part) => [Number(part.tagName[1]), part.textContent]),
);
const answer = {
  said,
  dialogs,
  requests: requests.filter((url) => url !== address),
  reached,
  moved,
  pointed,
  opened,
  violations,
  rules_passed: passes.length,
  sideways: overhang,
  printed,
  headings,
  text: await page.evaluate(() => document.body.innerText),
};
await answerWith(answer);
