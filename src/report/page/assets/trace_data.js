// The numbers of one card's trace, unpacked from their <template>.
const TRACE_UNIT = 512;
const TRACE_COLORS = 8; // as many as palette.cc has; the last is for all other lines
function unpackParts(template) {
  const find = (selector) => template.content.querySelector(selector);
  const numbers = (name) => {
    const part = find(`[data-array="${name}"]`);
    const text = atob(part.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    return new { u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[part.dataset.type](bytes.buffer);
  };
  const texts = (name) => {
    const part = find(`[data-texts="${name}"]`);
    return part.dataset.count === "0" ? [] : part.textContent.split("\n");
  };
  const group = (name, columns) => Object.fromEntries(columns.map((column) => [column, numbers(`${name}-${column}`)]));
  const tree = (name) => ({ ...group(name, ["parent", "name"]), names: texts(name) });
  return { numbers, texts, group, tree };
}
function unpackTrace(template) {
  const { numbers, texts, group, tree } = unpackParts(template);
  const levels = [...numbers("level-entries")].map((entries, i) => ({
    entries,
    ...group(`level-${i}`, ["least", "most", "reserved", "begins"]),
  }));
  const marks = group("mark", ["instant", "seconds"]);
  return {
    entries: Number(template.dataset.entries),
    hasTimes: template.dataset.times === "1",
    first: Number(template.dataset.first),
    ooms: [...numbers("oom-stops")],
    levels,
    marks: texts("mark").map((text, i) => ({ text, instant: marks.instant[i], seconds: marks.seconds[i] })),
    stops: group("stop", ["instant", "seconds", "allocated", "reserved", "small-bytes", "small-blocks"]),
    groups: texts("group"),
    segments: group("segment", ["address", "size", "from", "to", "group", "place"]),
    blocks: group("block", ["address", "size", "slack", "from", "freed", "to", "stack", "line", "label"]),
    small: group("small", ["stop", "place", "size", "blocks"]),
    stacks: tree("stack"),
    labels: tree("label"),
    lines: texts("line"),
  };
}
// What lies on the card at a stop: segments in order of group and address, blocks by address.
function stateAt(card, stop) {
  const { blocks, segments, small } = card;
  const alive = [];
  for (let i = 0; i < blocks.address.length; ++i) if (blocks.from[i] <= stop && stop < blocks.to[i]) alive.push(i);
  const there = [];
  for (let i = 0; i < segments.address.length; ++i) if (segments.from[i] <= stop && stop < segments.to[i]) there.push(i);
  const sums = new Map();
  for (let i = 0; i < small.stop.length && small.stop[i] <= stop; ++i) {
    sums.set(small.place[i], { bytes: small.size[i] * TRACE_UNIT, blocks: small.blocks[i] });
  }
  return { stop, alive, addresses: Float64Array.from(alive, (i) => blocks.address[i]), there, sums };
}
// The block or the hole at an address of a segment: {segment, block (-1: a hole), from, to}.
function itemAt(card, state, segment, address) {
  const begin = card.segments.address[segment];
  const end = begin + card.segments.size[segment];
  const after = firstAbove(state.addresses, address);
  const block = after > 0 ? state.alive[after - 1] : -1;
  const blockEnd = block >= 0 ? card.blocks.address[block] + card.blocks.size[block] * TRACE_UNIT : begin;
  if (block >= 0 && address < blockEnd) return { segment, block, from: card.blocks.address[block], to: Math.min(end, blockEnd) };
  const next = after < state.alive.length ? card.blocks.address[state.alive[after]] : end;
  return { segment, block: -1, from: Math.max(begin, blockEnd), to: Math.min(end, next) };
}
// Sums of a segment, for its row in the table.
function describeSegment(card, state, segment) {
  const { address, size, place } = card.segments;
  const end = address[segment] + size[segment];
  const row = { size: size[segment], used: 0, waiting: 0, free: 0, hole: 0, blocks: 0, isMixed: false };
  for (let at = address[segment]; at < end; ) {
    const item = itemAt(card, state, segment, at);
    const length = item.to - at;
    if (item.block < 0) {
      row.free += length;
      row.hole = Math.max(row.hole, length);
    } else {
      ++row.blocks;
      if (card.blocks.freed[item.block] <= state.stop) row.waiting += length;
      else row.used += length;
    }
    at = Math.max(item.to, at + 1);
  }
  row.isMixed = (state.sums.get(place[segment])?.blocks ?? 0) > 0;
  return row;
}
function momentText(card, stop) {
  const event = `event ${card.stops.instant[stop]} of ${card.entries}`;
  return card.hasTimes ? `${event}, ${card.stops.seconds[stop].toFixed(3)} s` : event;
}
// The lines that hold the most when the page opens have colours of their own in every picture: line -> colour.
function lineColors(card) {
  const held = new Map();
  for (const i of stateAt(card, card.first).alive) {
    held.set(card.blocks.line[i], (held.get(card.blocks.line[i]) ?? 0) + card.blocks.size[i]);
  }
  const most = [...held].sort((a, b) => b[1] - a[1]).slice(0, TRACE_COLORS - 1);
  return new Map(most.map(([line], color) => [line, color]));
}
function addressText(address) {
  return `0x${address.toString(16)}`;
}
function stackOf(card, block) {
  const names = [];
  for (let node = card.blocks.stack[block]; node !== 0; node = card.stacks.parent[node]) names.push(card.stacks.names[card.stacks.name[node]]);
  return names;
}
function labelOf(card, block) {
  const names = [];
  for (let node = card.blocks.label[block]; node !== 0; node = card.labels.parent[node]) names.unshift(card.labels.names[card.labels.name[node]]);
  return names.join(" > ");
}
function lifeOf(card, block) {
  const ends = card.blocks.to[block] < card.stops.instant.length ? momentText(card, card.blocks.to[block]) : "the end";
  const begins = card.blocks.from[block] === 0 ? "the first instant" : momentText(card, card.blocks.from[block]);
  return `there from ${begins} until ${ends}`;
}
function askedText(card, block) {
  const slack = card.blocks.slack[block];
  const isWhole = slack === 0xffffffff || slack === 0;
  return isWhole ? "" : ` (${bytesText(card.blocks.size[block] * TRACE_UNIT - slack)} asked for)`;
}
