// Opens a page once and times it: node report_open.mjs PACKAGES < question.json > answer.json
// question: {kind, page, limit_ms}. A page of memory_viz counts as far as its request for the viewer, which goes nowhere.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(pathToFileURL(`${process.argv[2]}/package.json`));
const { chromium } = require("playwright-core");
const question = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({ executablePath: question.chromium, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
let failure = null;
page.on("crash", () => (failure = "the tab crashed"));
const asked = new Promise((done) =>
  page.route(/^https?:/, (route) => {
    done();
    return route.abort();
  }),
);
const begin = performance.now();
const answer = { moved_ms: null };
try {
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error("late")), question.limit_ms));
  await Promise.race([late, page.goto(pathToFileURL(question.page).href, { timeout: 0, waitUntil: "commit" })]);
  if (question.kind === "vramfit") {
    await page.waitForSelector(".trace-time .view path.trace-most", { state: "attached", timeout: question.limit_ms });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  } else {
    await Promise.race([late, asked]);
  }
  answer.opened_ms = performance.now() - begin;
  if (question.kind === "vramfit") {
    answer.moved_ms = await page.evaluate(
      () =>
        new Promise((done) => {
          const slider = document.querySelector(".trace-control input");
          slider.value = String(Math.round(Number(slider.max) / 2));
          const start = performance.now();
          slider.dispatchEvent(new Event("input"));
          requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))));
        }),
    );
  }
} catch (error) {
  answer.failure = failure ?? `nothing shown within ${question.limit_ms / 1000} s: ${error.message.split("\n")[0]}`;
}
await browser.close();
process.stdout.write(JSON.stringify(answer));
process.exit(0); // whatever still waits
