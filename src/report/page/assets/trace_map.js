// The allocator's map: every segment in order of address, one group (pool and stream) below another.
//
//   large pool, default stream: 3 segments, 64 MiB (a line is 32 MiB)
//   [AAAA....BBBB][CC//........DDDD      a segment that does not end in a line goes on in the next
//   ............]
const MAP_ROW = 18;
const MAP_TITLE = 22; // a second line of it takes as much again, where the page is narrow
function makeMap(figure, card) {
  const view = figure.querySelector(".view");
  const told = figure.querySelector(".told");
  const stack = document.createElement("ol");
  stack.className = "told-stack";
  told.after(stack);
  const table = figure.querySelector("details table");
  const legend = figure.querySelector("ul.owners");
  let state = null;
  let width = 960;
  let groups = [];
  let title = MAP_TITLE;
  let chosen = null;

  const colors = lineColors(card);
  for (const [line, color] of colors) {
    const key = svgPart("svg", { class: "swatch", viewBox: "0 0 16 16", "aria-hidden": "true" });
    key.append(svgPart("rect", { class: `block own-${color}`, x: 1, y: 1, width: 14, height: 14 }));
    const item = document.createElement("li");
    item.append(key, ` ${card.lines[line]}`);
    legend.append(item);
  }
  const colorOf = (block) => colors.get(card.blocks.line[block]) ?? TRACE_COLORS - 1;
  const classOf = (block) => (card.blocks.freed[block] <= state.stop ? "block waiting" : `block own-${colorOf(block)}`);

  const layOut = () => {
    groups = [];
    let top = 0;
    for (const segment of state.there) {
      const number = card.segments.group[segment];
      if (groups.at(-1)?.number !== number) groups.push({ number, segments: [], offsets: [], bytes: 0 });
      const group = groups.at(-1);
      group.segments.push(segment);
      group.offsets.push(group.bytes);
      group.bytes += card.segments.size[segment];
    }
    // The more a group holds, the more lines it has: from two to twelve.
    const whole = groups.reduce((sum, group) => sum + group.bytes, 0);
    title = width < 640 ? 2 * MAP_TITLE - 6 : MAP_TITLE;
    for (const group of groups) {
      const most = Math.max(2, Math.round(12 * Math.sqrt(group.bytes / whole)));
      group.row = 2 << 20;
      while (group.row * most < group.bytes) group.row *= 2;
      group.lines = Math.ceil(group.bytes / group.row);
      group.top = top;
      top += title + group.lines * MAP_ROW + 10;
    }
    return top;
  };
  // A stretch of a group as pieces of lines.
  const pieces = (group, from, to, put) => {
    for (let at = from; at < to; ) {
      const line = Math.floor(at / group.row);
      const end = Math.min(to, (line + 1) * group.row);
      const scale = width / group.row;
      put((at - line * group.row) * scale, group.top + title + line * MAP_ROW, (end - at) * scale);
      at = end;
    }
  };
  const rectangle = (x, y, size) => `M${x.toFixed(2)} ${y}h${Math.max(size, 0.3).toFixed(2)}v${MAP_ROW - 3}h${-Math.max(size, 0.3).toFixed(2)}z`;
  const draw = () => {
    width = Math.max(320, view.clientWidth);
    const height = Math.max(40, layOut());
    const paths = new Map();
    const put = (name, group, from, to) =>
      pieces(group, from, to, (x, y, size) => {
        if (!paths.has(name)) paths.set(name, []);
        paths.get(name).push(rectangle(x, y, size));
      });
    const picture = svgPart("svg", { viewBox: `0 0 ${width} ${height}`, class: "map", "aria-hidden": "true" });
    for (const group of groups) {
      const count = group.segments.length === 1 ? "1 segment" : `${group.segments.length} segments`;
      const texts = [`${card.groups[group.number]}:`, `${count}, ${bytesText(group.bytes)} (a line is ${bytesText(group.row)})`];
      const lines = title > MAP_TITLE ? texts : [texts.join(" ")];
      lines.forEach((text, i) => picture.append(svgPart("text", { x: 0, y: group.top + MAP_TITLE - 6 + 16 * i }, text)));
      drawGroup(group, put);
    }
    for (const name of [...paths.keys()].sort((a, b) => Number(a.startsWith("block")) - Number(b.startsWith("block")))) {
      picture.append(svgPart("path", { class: name, d: paths.get(name).join("") }));
    }
    picture.append(svgPart("path", { class: "chosen-block" }));
    view.replaceChildren(picture);
    mark();
  };
  // Blocks thinner than half a point are drawn together, in the colour of the largest.
  const drawGroup = (group, put) => {
    const thin = (0.5 * group.row) / width;
    group.segments.forEach((segment, i) => {
      const begin = card.segments.address[segment];
      const end = begin + card.segments.size[segment];
      const shift = group.offsets[i] - begin;
      put(describeGround(segment), group, group.offsets[i], group.offsets[i] + card.segments.size[segment]);
      let waits = null;
      const flush = () => waits && put(waits.name, group, waits.from + shift, waits.to + shift);
      for (let k = firstAbove(state.addresses, begin - 1); k < state.alive.length && state.addresses[k] < end; ++k) {
        const block = state.alive[k];
        const from = state.addresses[k];
        const to = Math.min(end, from + card.blocks.size[block] * TRACE_UNIT);
        if (waits && from - waits.to < thin && (to - from < thin || waits.to - waits.from < thin)) {
          if (to - from > waits.widest) {
            waits.widest = to - from;
            waits.name = classOf(block);
          }
          waits.to = to;
          continue;
        }
        flush();
        waits = { name: classOf(block), from, to, widest: to - from };
      }
      flush();
    });
  };
  const describeGround = (segment) => ((state.sums.get(card.segments.place[segment])?.blocks ?? 0) > 0 ? "mixed" : "hole");
  const redraw = onceAFrame(() => state && draw());

  const mark = () => {
    const path = view.querySelector(".chosen-block");
    const group = chosen && groups.find((one) => one.segments.includes(chosen.segment));
    if (!group) return path?.setAttribute("d", "");
    const shift = group.offsets[group.segments.indexOf(chosen.segment)] - card.segments.address[chosen.segment];
    let d = "";
    pieces(group, chosen.from + shift, chosen.to + shift, (x, y, size) => (d += rectangle(x, y, Math.max(size, 2))));
    path.setAttribute("d", d);
  };
  const describe = (item) => {
    const segment = `segment ${addressText(card.segments.address[item.segment])} of ${bytesText(card.segments.size[item.segment])}`;
    if (item.block < 0) {
      const sum = state.sums.get(card.segments.place[item.segment]);
      const what = sum?.blocks ? `free but for small blocks (${sum.blocks} of them, ${bytesText(sum.bytes)}, around here)` : "free";
      return `${bytesText(item.to - item.from)} ${what} at ${addressText(item.from)}, ${segment}`;
    }
    const size = card.blocks.size[item.block] * TRACE_UNIT;
    const asked = askedText(card, item.block);
    const isWaiting = card.blocks.freed[item.block] <= state.stop;
    const label = labelOf(card, item.block);
    return (
      `${bytesText(size)}${asked} ${isWaiting ? "freed, waiting for other streams" : "in use"} at ${addressText(item.from)}; ` +
      `${card.lines[card.blocks.line[item.block]]}${label ? `; ${label}` : ""}; ${lifeOf(card, item.block)}; ${segment}`
    );
  };
  const choose = (item) => {
    if (chosen && item && chosen.segment === item.segment && chosen.from === item.from && chosen.block === item.block) return;
    chosen = item;
    mark();
    told.textContent = item ? describe(item) : "";
    const names = item && item.block >= 0 ? stackOf(card, item.block) : [];
    stack.replaceChildren(...names.slice(0, 4).map((name) => htmlPart("li", shortName(name), { title: name })));
    if (names.length > 4) stack.append(htmlPart("li", `… ${names.length - 4} more`));
  };
  const itemUnder = (event) => {
    const frame = view.firstChild.getBoundingClientRect();
    const scale = width / frame.width;
    const px = (event.clientX - frame.left) * scale;
    const py = (event.clientY - frame.top) * scale;
    const group = groups.find((one) => py >= one.top + title && py < one.top + title + one.lines * MAP_ROW);
    if (!group) return null;
    const offset = (Math.floor((py - group.top - title) / MAP_ROW) + px / width) * group.row;
    if (offset < 0 || offset >= group.bytes) return null;
    const i = firstAbove(group.offsets, offset) - 1;
    return itemAt(card, state, group.segments[i], card.segments.address[group.segments[i]] + offset - group.offsets[i]);
  };
  const step = (key) => {
    const order = state.there;
    if (order.length === 0) return null;
    const firstOf = (i) => itemAt(card, state, order[i], card.segments.address[order[i]]);
    const lastOf = (i) => itemAt(card, state, order[i], card.segments.address[order[i]] + card.segments.size[order[i]] - 1);
    const i = chosen ? order.indexOf(chosen.segment) : -1;
    if (i < 0 || key === "Home") return firstOf(0);
    const { address, size } = card.segments;
    if (key === "End") return lastOf(order.length - 1);
    if (key === "ArrowDown") return firstOf(Math.min(order.length - 1, i + 1));
    if (key === "ArrowUp") return firstOf(Math.max(0, i - 1));
    if (key === "ArrowRight") {
      if (chosen.to < address[order[i]] + size[order[i]]) return itemAt(card, state, order[i], chosen.to);
      return i + 1 < order.length ? firstOf(i + 1) : chosen;
    }
    if (chosen.from > address[order[i]]) return itemAt(card, state, order[i], chosen.from - 1);
    return i > 0 ? lastOf(i - 1) : chosen;
  };
  view.addEventListener("pointermove", (event) => {
    const item = itemUnder(event);
    if (item) choose(item);
  });
  view.addEventListener("pointerdown", (event) => choose(itemUnder(event)));
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    choose(step(event.key));
  });
  const fill = onceAFrame(() => {
    const rows = state.there
      .toSorted((a, b) => card.segments.size[b] - card.segments.size[a])
      .slice(0, 50)
      .map((segment) => {
        const row = describeSegment(card, state, segment);
        const about = row.isMixed ? "up to " : "";
        return [
          addressText(card.segments.address[segment]), card.groups[card.segments.group[segment]], bytesText(row.size), bytesText(row.used),
          bytesText(row.waiting), about + bytesText(row.free), about + bytesText(row.hole), row.isMixed ? `${row.blocks} shown` : `${row.blocks}`,
        ];
      });
    fillTable(table, rows);
  });
  view.hidden = false;
  new ResizeObserver(redraw).observe(view);
  return {
    show(now, isFirst) {
      state = now;
      chosen = null;
      told.textContent = "";
      stack.replaceChildren();
      redraw();
      if (!isFirst) fill(); // what the page came with is of all blocks
    },
  };
}
