// The modules of a page in Chromium: node drive_modules.mjs PACKAGES < question.json > answer.json
import { pathToFileURL } from "node:url";
import { answerWith, audit, hearDialogs, page, question, said, sideways } from "../browser.mjs";

const dialogs = [];
hearDialogs((text) => dialogs.push(text));
await page.goto(pathToFileURL(question.page).href);

const rows = () =>
  page.evaluate(() =>
    [...document.querySelectorAll("table.modules tbody tr")].filter((row) => !row.hidden).map((row) => row.cells[0].title),
  );
const answer = { said, dialogs, rows_at_first: await rows() };
const fold = page.locator("table.modules button.fold").nth(1);
await fold.focus();
await page.keyboard.press("Enter");
answer.rows_opened = await rows();
await page.keyboard.press("Space");
answer.rows_closed = await rows();
await page.keyboard.press("Enter");
const sort = page.locator("table.modules button.sort", { hasText: "activations" });
await sort.focus();
await page.keyboard.press("Enter");
answer.rows_sorted = await rows();
answer.sorted_by = await sort.evaluate((button) => button.parentElement.getAttribute("aria-sort"));

await page.evaluate(() => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
Object.assign(
  answer,
  await page.evaluate(() => {
    const drawings = [...document.querySelectorAll("svg.network")];
    const overlaps = [];
    const clipped = [];
    for (const drawing of drawings) {
      // The last rectangle with a border is the front sheet.
      const boxes = [...drawing.querySelectorAll("g.node")].map((node) => ({
        node,
        box: [...node.querySelectorAll("rect.box, rect.join")].pop().getBoundingClientRect(),
      }));
      boxes.forEach(({ node, box }, i) => {
        for (const other of boxes.slice(i + 1)) {
          const apart =
            box.right <= other.box.left || other.box.right <= box.left || box.bottom <= other.box.top || other.box.bottom <= box.top;
          if (!apart) overlaps.push([node.textContent, other.node.textContent]);
        }
        for (const text of node.querySelectorAll("text")) {
          const place = text.getBoundingClientRect();
          if (place.left < box.left - 1 || place.right > box.right + 1) clipped.push(text.textContent);
        }
      });
    }
    return { drawn: drawings.map((drawing) => drawing.textContent), overlaps, clipped, text: document.body.innerText };
  }),
);
answer.violations = (await audit()).violations;
answer.sideways = await sideways();
await answerWith(answer);
