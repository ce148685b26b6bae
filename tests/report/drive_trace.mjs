// Uses a snapshot's page as a person would: node drive_trace.mjs PACKAGES < question.json > answer.json
// question: {page, width, screenshot}; answer: what the page showed at each step.
import { pathToFileURL } from "node:url";
import { answerWith, page, question, said, settle } from "../browser.mjs";

await page.goto(pathToFileURL(question.page).href);

const card = page.locator("section.trace-card").first();
const text = (selector) => card.locator(selector).first().innerText();
const rows = (selector) => card.locator(`${selector} tbody tr`).evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
const look = async () => {
  await settle();
  return {
    now: await text(".trace-control output"),
    spoken: await card.locator(".trace-control input").getAttribute("aria-valuetext"),
    lines: await rows(".trace-flame"),
    segments: await rows(".trace-map details"),
    drawn: await card.locator(".trace-map .view path").evaluateAll((all) => [...new Set(all.map((path) => path.getAttribute("class")))]),
    axis: await card.locator(".trace-time .view text.middle").allTextContents(),
  };
};
const press = async (selector, keys) => {
  await card.locator(selector).focus();
  const told = [];
  for (const key of keys) {
    await page.keyboard.press(key);
    await settle();
    told.push(await text(selector.replace(".view", ".told")));
  }
  return told;
};
const answer = { first: await look() };
if (question.screenshot) await page.screenshot({ path: question.screenshot, fullPage: true });
answer.map = await press(".trace-map .view", ["Home", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "End"]);
const map = await card.locator(".trace-map .view svg").boundingBox();
await page.mouse.move(map.x + 3, map.y + 26);
answer.pointed = await text(".trace-map .told");
if (await card.locator(".trace-flame .view").count()) {
  answer.flame = await press(".trace-flame .view", ["ArrowDown", "ArrowDown", "ArrowUp", "Enter", "Escape"]);
  const choices = await card.locator(".trace-flame select option").allInnerTexts();
  answer.choices = choices;
  await card.locator(".trace-flame select").selectOption({ label: choices.at(-1) });
  await settle();
  answer.other = await card.locator(".trace-flame .view text").allTextContents();
}
for (const name of await card.locator(".trace-control button").allInnerTexts()) {
  await card.locator(".trace-control button", { hasText: name }).first().click();
  answer[name] = await look();
}
await card.locator(".trace-control input").focus();
await page.keyboard.press("Home");
answer.begin = await look();
await card.locator(".trace-time .view").focus();
await page.keyboard.press("ArrowRight");
answer.second = await look();
await page.keyboard.press("+");
answer.zoomed = await look();
await card.locator(".trace-time .trace-zoom button", { hasText: "all" }).click();
if (await card.locator(".trace-time .trace-zoom select").count()) await card.locator(".trace-time .trace-zoom select").selectOption("events");
answer.events = await look();
answer.said = said;
await answerWith(answer);
