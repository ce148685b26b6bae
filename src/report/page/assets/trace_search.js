// Tensors by words: of their line, stack, phase or address, and by size (24MiB, >1GiB, <=512KiB).
const SEARCH_ROWS = 25;
const SEARCH_UNITS = { b: 1, kib: 1 << 10, kb: 1 << 10, mib: 1 << 20, mb: 1 << 20, gib: 1 << 30, gb: 1 << 30 };

// Which nodes of a tree have a word in their own name or in one around them: parents come before children.
function nodesWith(tree, word) {
  const has = tree.names.map((name) => name.toLowerCase().includes(word));
  const found = new Uint8Array(tree.parent.length);
  for (let node = 1; node < found.length; ++node) found[node] = found[tree.parent[node]] || has[tree.name[node]] ? 1 : 0;
  return found;
}
// A test of a block for one word.
function testOf(card, word) {
  const { blocks } = card;
  const limit = /^([<>]=?|=)?(\d+(?:\.\d+)?)(b|kib|kb|mib|mb|gib|gb)$/.exec(word);
  if (limit) {
    const bytes = Number(limit[2]) * SEARCH_UNITS[limit[3]];
    const sizes = [(block) => blocks.size[block] * TRACE_UNIT];
    if (blocks.slack) sizes.push((block) => blocks.size[block] * TRACE_UNIT - (blocks.slack[block] === 0xffffffff ? 0 : blocks.slack[block]));
    const holds = {
      "<": (size) => size < bytes,
      "<=": (size) => size <= bytes,
      ">": (size) => size > bytes,
      ">=": (size) => size >= bytes,
    }[limit[1]] ?? ((size) => bytesText(size) === bytesText(bytes));
    return (block) => sizes.some((size) => holds(size(block)));
  }
  const stacks = nodesWith(card.stacks, word);
  const labels = nodesWith(card.labels, word);
  const lines = card.lines.map((line) => line.toLowerCase().includes(word));
  return (block) =>
    stacks[blocks.stack[block]] === 1 || labels[blocks.label[block]] === 1 || lines[blocks.line[block]] || addressText(blocks.address[block]) === word;
}
// The blocks that all words fit, the largest first; null without a word.
function searchBlocks(card, text) {
  const tests = text.toLowerCase().replace(/([<>]=?|=)\s+/g, "$1").replace(/(\d)\s+(?=(b|kib|kb|mib|mb|gib|gb)\b)/g, "$1").split(/\s+/).filter(Boolean).map((word) => testOf(card, word));
  if (tests.length === 0) return null;
  const found = [];
  for (let block = 0; block < card.blocks.size.length; ++block) if (tests.every((fits) => fits(block))) found.push(block);
  return found.sort((a, b) => card.blocks.size[b] - card.blocks.size[a]);
}
// What is known of a tensor: its size, its line, its life and its stack.
function tellTensor(figure, card, block) {
  const told = figure.querySelector(".told");
  const stack = figure.querySelector(".stack-whole");
  if (block < 0) {
    told.textContent = "";
    stack.replaceChildren();
    stack.hidden = true;
    return;
  }
  const { blocks, stops } = card;
  const label = labelOf(card, block);
  const end = Math.min(blocks.to[block], stops.instant.length - 1);
  const lasted = [`${stops.instant[end] - stops.instant[blocks.from[block]]} events`];
  if (card.hasTimes) lasted.push(`${(stops.seconds[end] - stops.seconds[blocks.from[block]]).toFixed(3)} s`);
  const freed = blocks.freed[block] + 1 < blocks.to[block] ? `, freed at ${momentText(card, blocks.freed[block])} and waiting for other streams from then on` : "";
  told.textContent =
    `${bytesText(blocks.size[block] * TRACE_UNIT)}${askedText(card, block)} at ${addressText(blocks.address[block])}; ${card.lines[blocks.line[block]]}` +
    `${label ? `; ${label}` : ""}; ${lifeOf(card, block)} (${lasted.join(", ")})${freed}`;
  const names = stackOf(card, block);
  stack.replaceChildren(...names.map((name) => htmlPart("li", name, { class: isLibrary(name) ? "library" : "own" })));
  stack.hidden = names.length === 0;
}
function makeSearch(figure, card, stack) {
  const form = figure.querySelector(".stack-search");
  const input = form.querySelector("input");
  const output = form.querySelector("output");
  const rows = figure.querySelector(".stack-found");
  const rowOf = (block) => {
    const line = document.createElement("tr");
    const first = document.createElement("th");
    first.scope = "row";
    first.className = "number";
    const button = htmlPart("button", bytesText(card.blocks.size[block] * TRACE_UNIT), { type: "button", "data-block": block });
    button.addEventListener("click", () => stack.choose(block));
    first.append(button);
    const place = document.createElement("td");
    place.append(htmlPart("code", card.lines[card.blocks.line[block]]));
    line.append(first, place, htmlPart("td", lifeOf(card, block).replace("there ", "")));
    return line;
  };
  const search = onceAFrame(() => {
    const found = searchBlocks(card, input.value);
    stack.find(found && new Set(found));
    rows.hidden = !found || found.length === 0;
    rows.querySelector("tbody").replaceChildren(...(found ?? []).slice(0, SEARCH_ROWS).map(rowOf));
    const singly = card.blocks.size.length;
    const cut = found && found.length > SEARCH_ROWS ? `; the largest ${SEARCH_ROWS} are listed` : "";
    output.textContent = found ? `${found.length} of ${singly} tensors${cut}` : "";
  });
  input.addEventListener("input", search);
  form.addEventListener("submit", (event) => event.preventDefault());
}
