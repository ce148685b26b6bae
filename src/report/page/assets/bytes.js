// Writes a number as C++ does: what lies just between two goes to the even one.
function fixedText(value, digits) {
  const scale = 10 ** digits;
  const below = Math.floor(value * scale);
  const isTie = value * scale - below === 0.5;
  return (isTie ? (below + (below % 2)) / scale : value).toFixed(digits);
}
// Sizes as base::to_string(Bytes) writes them.
function bytesText(bytes) {
  const size = Math.abs(bytes);
  if (size < 1024) return `${bytes} B`;
  if (size < 1 << 20) return `${fixedText(bytes / 1024, 1)} KiB`;
  if (size < 10 << 20) return `${fixedText(bytes / (1 << 20), 1)} MiB`;
  if (size < 2 * (1 << 30)) return `${fixedText(bytes / (1 << 20), 0)} MiB`;
  return `${fixedText(bytes / (1 << 30), 2)} GiB`;
}
// Ticks of an axis, as byte_ticks and tick_text of axis.cc make them.
function byteTicks(most, count) {
  const bytes = Math.max(1, most);
  const rough = bytes / count;
  let step = 0;
  for (let unit = 1; step === 0; unit *= 1024) step = [1, 2, 5, 10, 20, 50, 100, 256, 512].find((one) => one * unit >= rough) * unit || 0;
  const ticks = [0];
  while (ticks.at(-1) < bytes) ticks.push(ticks.at(-1) + step);
  return ticks;
}
function tickText(bytes) {
  let amount = bytes;
  let unit = 0;
  for (; amount >= 1024 && unit < 4; ++unit) amount /= 1024;
  return `${Number(amount.toPrecision(4))} ${["B", "KiB", "MiB", "GiB", "TiB"][unit]}`;
}
// Round numbers within a span: 1, 2 or 5 times a power of ten apart, no more than `count` of them.
function spanTicks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Number((power * [1, 2, 5, 10].find((factor) => factor * power >= rough)).toPrecision(1));
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return { step, ticks };
}
function secondsText(seconds, step) {
  return `${seconds.toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)))} s`;
}
function shareText(part, whole) {
  return whole > 0 ? `${fixedText((100 * part) / whole, 1)} %` : "";
}
// An element of a picture. Texts get in as text only.
function svgPart(name, attributes, text) {
  const part = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  if (text !== undefined) part.textContent = text;
  return part;
}
function htmlPart(name, text, attributes = {}) {
  const part = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
  part.textContent = text;
  return part;
}
// Runs it once before the next picture, however often it is asked for.
function onceAFrame(work) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      work();
    });
  };
}
// The first index whose value is above `wanted`, in an ascending list.
function firstAbove(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
// The rows of a table after its head; the first cell of each heads it.
function fillTable(table, rows) {
  const columns = [...table.tHead.rows[0].cells].map((cell) => cell.className);
  table.tBodies[0].replaceChildren(
    ...rows.map((row) => {
      const line = document.createElement("tr");
      row.forEach((value, i) => {
        const cell = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) cell.scope = "row";
        if (columns[i]) cell.className = columns[i];
        if (i === 0) cell.append(htmlPart("code", value));
        else cell.textContent = value;
        line.append(cell);
      });
      return line;
    }),
  );
}
