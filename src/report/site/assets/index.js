// The list is whole without this. It filters and sorts without asking the server, follows what happens, takes keys.
const table = document.querySelector("table.index");
const filter = document.querySelector("input[type=search]");
const count = document.querySelector("output.count");
const state = document.querySelector("p.state");
const rows = () => [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.dataset.run);
document.querySelector("form.filter button").hidden = true;

const applyFilter = () => {
  const words = filter.value.toLowerCase().split(" ").filter(Boolean);
  let shown = 0;
  for (const row of rows()) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) ++shown;
  }
  for (const head of table.querySelectorAll("tr.group-head")) {
    head.hidden = ![...head.parentNode.rows].some((row) => row.dataset.run && !row.hidden);
  }
  count.textContent = words.length ? `${shown} of ${rows().length} runs` : "";
};
filter.addEventListener("input", applyFilter);
filter.form.addEventListener("submit", (event) => event.preventDefault());
// Another grouping is another page; what was typed goes with it.
const typed = new URLSearchParams(location.hash.slice(1)).get("filter");
if (typed) filter.value = typed;
const grouping = filter.form.elements.group;
grouping.addEventListener("change", () => {
  const address = new URL(location.href);
  if (grouping.value) address.searchParams.set("group", grouping.value);
  else address.searchParams.delete("group");
  address.hash = filter.value ? new URLSearchParams({ filter: filter.value }) : "";
  location.assign(address);
});

// Sorting: by a cell's data-value where it has one, else by its text.
let order = null;
const valueOf = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.value);
};
const applyOrder = () => {
  if (!order) return;
  for (const body of table.tBodies) {
    const sorted = [...body.rows].filter((row) => row.dataset.run).map((row) => [valueOf(row, order.column), row]);
    sorted.sort(([left], [right]) => (left < right ? -order.sign : left > right ? order.sign : 0));
    body.append(...sorted.map(([, row]) => row));
  }
};
for (const head of table.tHead.querySelectorAll("th[data-sort]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const first = head.dataset.sort === "number" ? -1 : 1;
    const again = order && order.column === head.cellIndex;
    order = { column: head.cellIndex, sign: again ? -order.sign : first };
    for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order.sign > 0 ? "ascending" : "descending");
    applyOrder();
  });
}

// Keys, while nobody writes.
let here = null;
const go = (row) => {
  if (!row) return;
  here?.classList.remove("here");
  here = row;
  row.classList.add("here");
  row.querySelector("a").focus();
  row.scrollIntoView({ block: "nearest" });
};
const step = (by) => {
  const shown = rows().filter((row) => !row.hidden);
  const focused = document.activeElement.closest?.("table.index tbody tr") ?? here;
  const at = shown.indexOf(focused);
  go(shown[Math.min(Math.max(at < 0 ? 0 : at + by, 0), shown.length - 1)]);
};
const keys = {
  "/": () => filter.focus(),
  j: () => step(1),
  k: () => step(-1),
  x: () => document.activeElement.closest?.("tr[data-run]")?.querySelector("input").click(),
  c: () => document.querySelector("form.runs").requestSubmit(),
};
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape" && event.target === filter) return filter.blur();
  if (event.target.matches?.("input[type=search]") || !(event.key in keys)) return;
  event.preventDefault();
  keys[event.key]();
});
document.querySelector("form.runs").addEventListener("submit", (event) => {
  // A run that is in several groups is compared once.
  const chosen = new Set([...table.querySelectorAll("tbody input:checked")].map((box) => box.value)).size;
  if (chosen > 0) return;
  event.preventDefault();
  say("Choose the runs to compare first.");
});

// What happens meanwhile. A second between questions, more while nobody answers or looks.
const say = (text, lost = false) => {
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("lost", lost);
};
const renew = async () => {
  const answer = await fetch(location.href);
  if (!answer.ok) throw new Error(String(answer.status));
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("table.index");
  const chosen = new Set([...table.querySelectorAll("tbody input:checked")].map((box) => box.value));
  const focused = document.activeElement.closest?.("tr[data-run]")?.dataset.run;
  const selector = document.activeElement.tagName === "INPUT" ? "input" : "a";
  for (const body of [...table.tBodies]) body.remove();
  table.append(...fresh.tBodies);
  table.dataset.stamp = fresh.dataset.stamp;
  for (const box of table.querySelectorAll("tbody input")) box.checked = chosen.has(box.value);
  if (focused) table.querySelector(`tr[data-run="${CSS.escape(focused)}"] ${selector}`)?.focus();
  applyOrder();
  applyFilter();
};
let failures = 0;
const follow = async () => {
  try {
    const answer = await fetch("/live.json");
    if (!answer.ok) throw new Error(String(answer.status));
    const now = await answer.json();
    if (now.stamp !== table.dataset.stamp) await renew();
    for (const run of now.running) {
      if (run.used_bytes === null) continue;
      for (const cell of table.querySelectorAll(`tr[data-run="${run.number}"][data-state=running] .peak`)) {
        cell.textContent = `${bytesText(run.used_bytes)} now, ${bytesText(run.peak_bytes)}`;
        cell.dataset.value = String(run.peak_bytes);
      }
    }
    say(now.running.length ? `${now.running.length} running` : "");
    failures = 0;
  } catch {
    ++failures;
    if (failures > 1) say("Lost: vramfit serve does not answer. Trying again.", true);
  }
  setTimeout(follow, document.hidden ? 5000 : Math.min(1000 * 2 ** failures, 10000));
};
applyFilter();
follow();
