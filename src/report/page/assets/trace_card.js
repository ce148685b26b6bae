// One card of a snapshot: curve, map and flame graph show the same instant.
function flameOf(card, state, by) {
  const tree = by === "stack" ? card.stacks : card.labels;
  const nodes = by === "stack" ? card.blocks.stack : card.blocks.label;
  const self = new Float64Array(tree.parent.length);
  const blocks = new Uint32Array(tree.parent.length);
  for (const i of state.alive) {
    self[nodes[i]] += card.blocks.size[i] * TRACE_UNIT;
    ++blocks[nodes[i]];
  }
  return { tree, self, blocks };
}
const LINE_ROWS = 15;
function lineRows(card, state) {
  const totals = new Map();
  for (const i of state.alive) {
    const total = totals.get(card.blocks.line[i]) ?? { bytes: 0, blocks: 0 };
    total.bytes += card.blocks.size[i] * TRACE_UNIT;
    ++total.blocks;
    totals.set(card.blocks.line[i], total);
  }
  const rows = [...totals].map(([line, total]) => ({ text: card.lines[line], ...total }));
  const small = { bytes: card.stops["small-bytes"][state.stop], blocks: card.stops["small-blocks"][state.stop] };
  if (small.blocks > 0) rows.push({ text: "(blocks too small to show singly)", ...small });
  const whole = rows.reduce((sum, row) => sum + row.bytes, 0);
  rows.sort((a, b) => b.bytes - a.bytes || (a.text < b.text ? -1 : 1));
  const others = rows.splice(LINE_ROWS);
  if (others.length > 0) {
    const add = (what) => others.reduce((sum, row) => sum + row[what], 0);
    rows.push({ text: `(${others.length} other lines)`, bytes: add("bytes"), blocks: add("blocks") });
  }
  return rows.map((row) => [row.text, bytesText(row.bytes), shareText(row.bytes, whole), `${row.blocks}`]);
}
function startTrace(section) {
  const card = unpackTrace(section.querySelector("template"));
  if (card.stops.instant.length === 0) return;
  const control = section.querySelector(".trace-control");
  const slider = control.querySelector("input");
  const output = control.querySelector("output");
  const flameFigure = section.querySelector(".trace-flame");
  const by = flameFigure.querySelector("select");
  const lineTable = flameFigure.querySelector("table");
  let state = null;
  const timeFigure = section.querySelector(".trace-time");
  const time = timeFigure ? makeTime(timeFigure, card, (stop) => show(stop)) : null;
  const stackFigure = section.querySelector(".trace-stack");
  const stack = stackFigure ? makeStack(stackFigure, card, (stop) => show(stop)) : null;
  if (stack) makeSearch(stackFigure, card, stack);
  const map = makeMap(section.querySelector(".trace-map"), card);
  const flame = by ? makeFlame(flameFigure) : null;
  const showFlame = () => {
    if (!flame) return;
    const { tree, self, blocks } = flameOf(card, state, by.value);
    const small = card.stops["small-bytes"][state.stop];
    const count = card.stops["small-blocks"][state.stop];
    flame.show(tree, self, blocks, small, `blocks too small to show singly: ${count}, ${bytesText(small)}`);
  };
  const work = onceAFrame(() => {
    const isFirst = state === null;
    state = stateAt(card, Number(slider.value));
    map.show(state, isFirst);
    showFlame();
    if (!isFirst) fillTable(lineTable, lineRows(card, state));
  });
  const show = (stop) => {
    slider.value = String(stop);
    const text =
      `${momentText(card, stop)}: ${bytesText(card.stops.allocated[stop])} allocated, ${bytesText(card.stops.reserved[stop])} reserved` +
      (card.ooms.includes(stop) ? ", out of memory" : "");
    output.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    time?.show(stop);
    stack?.show(stop);
    work();
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const button of control.querySelectorAll("button[data-stop]")) {
    button.addEventListener("click", () => show(Number(button.dataset.stop)));
  }
  if (by) {
    by.addEventListener("change", showFlame);
    flameFigure.querySelector(".trace-by").hidden = false;
  }
  control.hidden = false;
  for (const part of section.querySelectorAll(".trace-scripted")) part.hidden = false;
  show(card.first);
}
for (const section of document.querySelectorAll("section.trace-card")) startTrace(section);
