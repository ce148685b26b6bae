// Every tensor over the allocator's events, one upon another in the order in which they came: what stands on the left
// end lies lowest, but for what piles up, which lies below all (trace_piles.js). The largest have a band each; what is too thin or too many is one band on top, so that the upper
// edge is always what is allocated.
//
//   bytes |   ______ xxxx       x: the rest, summed
//         |__|  C   |_____
//         |__B__|___D_____      when B is freed, D comes down
//         |______A________
//         +----------------> events
const STACK = { height: 380, left: 70, right: 12, top: 12, bottom: 28, most: 1500, least: 0.4 };

// The stops that are drawn: all in sight, or the fullest of each point of the picture.
function stopsInSight(card, span, width) {
  const { instant, allocated } = card.stops;
  const first = Math.max(0, firstAbove(instant, span.from) - 1);
  const last = Math.min(instant.length, firstAbove(instant, span.to));
  const points = Math.max(1, Math.floor(width));
  if (last - first <= points) return Uint32Array.from({ length: last - first }, (_, i) => first + i);
  const fullest = [];
  let point = -1;
  for (let stop = first; stop < last; ++stop) {
    const now = Math.floor((points * (instant[stop] - span.from)) / (span.to - span.from));
    if (now !== point) fullest.push(stop);
    else if (allocated[stop] > allocated[fullest.at(-1)]) fullest[fullest.length - 1] = stop;
    point = now;
  }
  return Uint32Array.from(fullest);
}
// Bands from the lowest up: {block, from, to}, as places in `shown`. Those that are found come first, then the largest.
// Those of a pile lie lowest; what of it is too thin follows as {pile, rest}, with its height at each place.
function chooseBands(card, shown, found, leastBytes, piles) {
  const { from, freed, size } = card.blocks;
  const bands = [];
  const counts = { inSight: 0, summed: 0 };
  for (let block = 0; block < size.length; ++block) {
    const begin = firstAbove(shown, from[block] - 1);
    const end = firstAbove(shown, freed[block] - 1);
    if (begin >= end) continue;
    ++counts.inSight;
    if (found?.has(block) || size[block] * TRACE_UNIT >= leastBytes) bands.push({ block, from: begin, to: end });
  }
  const rank = (band) => (found?.has(band.block) ? 2 ** 40 : 0) + size[band.block];
  bands.sort((a, b) => rank(b) - rank(a));
  bands.length = Math.min(bands.length, STACK.most);
  const numbers = pilesByBlock(piles);
  const pileOf = (band) => numbers.get(band.block) ?? piles.length;
  bands.sort((a, b) => pileOf(a) - pileOf(b) || from[a.block] - from[b.block] || card.blocks.address[a.block] - card.blocks.address[b.block]);
  const banded = new Set(bands.map((band) => band.block));
  counts.own = bands.length;
  counts.summed = counts.inSight - bands.length;
  piles.forEach((pile, number) => {
    const heights = heightsOf(card, pile, shown, banded);
    for (const block of pile.blocks) counts.summed -= !banded.has(block) && firstAbove(shown, from[block] - 1) < shown.length ? 1 : 0;
    const behind = bands.findIndex((band) => band.pile === undefined && pileOf(band) > number);
    bands.splice(behind < 0 ? bands.length : behind, 0, { pile, from: 0, to: shown.length, ...heights });
  });
  return { bands, counts };
}
function makeStack(figure, card, onStop) {
  const view = figure.querySelector(".view");
  const note = figure.querySelector(".stack-note");
  const { height, left, right, top, bottom } = STACK;
  const colors = lineColors(card);
  let width = 960;
  let stop = card.first;
  let found = null;
  let chosen = -1;
  const piles = findPiles(card);
  let drawn = { shown: new Uint32Array(), bands: [] };
  const most = Math.max(1, ...card.levels[0].most) * TRACE_UNIT;
  const ticks = byteTicks(most, 5);
  const scale = Math.min(ticks.at(-1), most * 1.04);
  const whole = () => Math.max(1, card.entries);
  const zoom = makeZoom(figure, view, {
    left, right, whole,
    least: () => Math.min(whole(), 4),
    middle: () => card.stops.instant[stop],
    onChange: () => redraw(),
    onClick: (event, at) => pick(event, at),
  });
  const x = (place) => Math.min(width - right, Math.max(left, left + ((width - left - right) * (place - zoom.span.from)) / (zoom.span.to - zoom.span.from)));
  const y = (bytes) => height - bottom - ((height - top - bottom) * bytes) / scale;
  const edge = (i) => x(i < drawn.shown.length ? card.stops.instant[drawn.shown[i]] : zoom.span.to);
  // The lines that hold the most have the map's colours, all others pale ones of their own.
  const paintOf = (block) => paintLine(card.blocks.line[block], `shade-${block % 4}`);
  const paintLine = (line, shade) => {
    if (colors.has(line)) return { class: `block own-${colors.get(line)} ${shade}` };
    return { class: `block ${shade}`, fill: `hsl(${Math.round(line * 137.5) % 360} 32% 66%)` };
  };

  // The outline between two courses of steps, from place `from` to place `to`.
  const outline = (from, to, lower, upper) => {
    let path = `M${edge(from).toFixed(1)} ${y(upper(from)).toFixed(1)}`;
    for (let i = from; i < to; ++i) {
      if (i > from && upper(i) !== upper(i - 1)) path += `V${y(upper(i)).toFixed(1)}`;
      if (i + 1 === to || upper(i + 1) !== upper(i)) path += `H${edge(i + 1).toFixed(1)}`;
    }
    path += `V${y(lower(to - 1)).toFixed(1)}`;
    for (let i = to - 1; i >= from; --i) {
      if (i < to - 1 && lower(i) !== lower(i + 1)) path += `V${y(lower(i)).toFixed(1)}`;
      if (i === from || lower(i - 1) !== lower(i)) path += `H${edge(i).toFixed(1)}`;
    }
    return `${path}Z`;
  };
  const axes = (picture) => {
    for (const bytes of ticks) {
      if (bytes > scale) break;
      picture.append(svgPart("line", { class: "grid", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) }));
      picture.append(svgPart("text", { class: "end", x: left - 6, y: y(bytes) + 4 }, tickText(bytes)));
    }
    for (const place of spanTicks(zoom.span.from, zoom.span.to, Math.max(2, Math.floor(width / 110))).ticks) {
      if (Number.isInteger(place)) picture.append(svgPart("text", { class: x(place) > width - 30 ? "end" : "middle", x: x(place), y: height - bottom + 18 }, `${place}`));
    }
  };
  const drawPile = (picture, band, base) => {
    const d = outline(0, base.length, (i) => base[i], (i) => base[i] + band.rest[i]);
    const part = svgPart("path", { ...paintLine(band.pile.line, "shade-0"), d, "data-pile": band.pile.line });
    part.classList.toggle("faded", found !== null);
    if (band.rest.some((bytes) => bytes > 0)) picture.append(part);
    for (let i = 0; i < base.length; ++i) base[i] += band.rest[i];
  };
  const drawBands = (picture) => {
    const base = new Float64Array(drawn.shown.length);
    const piled = [];
    for (const band of drawn.bands) {
      if (band.pile) {
        drawPile(picture, band, base);
        piled.push(outline(0, base.length, (i) => base[i] - band.whole[i], (i) => base[i]));
        continue;
      }
      const size = card.blocks.size[band.block] * TRACE_UNIT;
      const d = outline(band.from, band.to, (i) => base[i], (i) => base[i] + size);
      for (let i = band.from; i < band.to; ++i) base[i] += size;
      const part = svgPart("path", { ...paintOf(band.block), d, "data-block": band.block });
      part.classList.toggle("faded", found !== null && !found.has(band.block));
      picture.append(part);
      if (band.block === chosen) drawn.mark = d;
    }
    const sum = (i) => Math.max(base[i], card.stops.allocated[drawn.shown[i]]);
    if (base.some((bytes, i) => sum(i) > bytes)) picture.append(svgPart("path", { class: `mixed rest${found ? " faded" : ""}`, d: outline(0, base.length, (i) => base[i], sum) }));
    for (const d of piled) picture.append(svgPart("path", { class: "pile", d }));
  };
  const draw = () => {
    width = Math.max(300, view.clientWidth);
    const shown = stopsInSight(card, zoom.span, width - left - right);
    const leastBytes = (STACK.least * scale) / (height - top - bottom);
    const { bands, counts } = chooseBands(card, shown, found, leastBytes, shown.length > 0 ? piles : []);
    drawn = { shown, bands, mark: "" };
    const picture = svgPart("svg", { viewBox: `0 0 ${width} ${height}`, class: "trace", "aria-hidden": "true" });
    axes(picture);
    drawBands(picture);
    if (drawn.mark) picture.append(svgPart("path", { class: "chosen-block", d: drawn.mark }));
    const place = card.stops.instant[stop];
    if (place >= zoom.span.from && place <= zoom.span.to) {
      picture.append(svgPart("line", { class: "cursor shown", x1: x(place), x2: x(place), y1: top, y2: height - bottom }));
    }
    view.replaceChildren(picture);
    note.textContent =
      `Events ${Math.round(zoom.span.from)} to ${Math.round(zoom.span.to)}: ${counts.inSight} tensors in sight, ${counts.own} with a band of their own` +
      (counts.summed > 0 ? `, ${counts.summed} smaller ones summed in the crossed band on top` : "") +
      (shown.length < card.entries + 1 && shown.length > 0 && zoom.span.to - zoom.span.from + 1 > shown.length ? `; drawn at ${shown.length} events, the fullest of those between.` : ".") +
      pilesText(card, piles);
  };
  const redraw = onceAFrame(draw);

  // The tensors at a place of `shown`, from the lowest up, with where they begin.
  const pileAt = (place) => {
    let base = 0;
    const pile = [];
    for (const band of drawn.bands) {
      if (band.pile) base += band.rest[place] ?? 0;
      if (band.pile || band.from > place || place >= band.to) continue;
      pile.push({ block: band.block, base });
      base += card.blocks.size[band.block] * TRACE_UNIT;
    }
    return pile;
  };
  const choose = (block) => {
    chosen = block;
    tellTensor(figure, card, block);
    redraw();
  };
  const pick = (event, at) => {
    const place = Math.max(0, firstAbove(Array.from(drawn.shown, (one) => card.stops.instant[one]), at) - 1);
    const frame = view.firstChild.getBoundingClientRect();
    const py = ((event.clientY - frame.top) * height) / frame.height;
    const bytes = ((height - bottom - py) * scale) / (height - top - bottom);
    const hit = pileAt(place).find((one) => one.base <= bytes && bytes < one.base + card.blocks.size[one.block] * TRACE_UNIT);
    choose(hit ? hit.block : -1);
    onStop(drawn.shown[place]);
  };
  const walk = (by) => {
    const pile = pileAt(Math.max(0, firstAbove(drawn.shown, stop) - 1));
    const at = pile.findIndex((one) => one.block === chosen);
    const next = pile[at < 0 ? (by > 0 ? 0 : pile.length - 1) : at + by];
    if (next) choose(next.block);
  };
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = card.stops.instant.length - 1;
    const stops = { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: last };
    if (event.key in stops) onStop(Math.min(last, Math.max(0, stops[event.key])));
    else if (event.key === "ArrowUp") walk(1);
    else if (event.key === "ArrowDown") walk(-1);
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
  view.hidden = false;
  figure.querySelector(".trace-zoom").hidden = false;
  new ResizeObserver(redraw).observe(view);
  return {
    show(now) {
      stop = now;
      const place = card.stops.instant[stop];
      const size = zoom.span.to - zoom.span.from;
      if (place < zoom.span.from || place > zoom.span.to) zoom.set(place - size / 2, size);
      redraw();
    },
    find(blocks) {
      found = blocks;
      redraw();
    },
    choose,
  };
}
