// Memory over time. The resolution follows the span: a step is never finer than what was kept.
function makeTime(figure, card, onStop) {
  const view = figure.querySelector(".view");
  const choice = figure.querySelector("select");
  const height = 280;
  const left = 70;
  const right = 12;
  const top = 24;
  const bottom = 28;
  let across = card.hasTimes ? "seconds" : "events";
  let stop = card.first;
  let from = 0;
  let to = 1;
  let width = 960;
  const whole = () => (across === "events" ? card.entries : Math.max(1e-6, card.stops.seconds[card.stops.seconds.length - 1]));
  const begin = (level, i) => (across === "events" ? i * level.entries : level.begins[i]);
  const most = Math.max(512, ...card.levels[0].reserved.map((units) => units), ...card.levels[0].most) * TRACE_UNIT;
  const x = (place) => left + ((width - left - right) * (place - from)) / (to - from);
  const y = (bytes) => height - bottom - ((height - top - bottom) * bytes) / (most * 1.04);
  const stopPlace = (i) => (across === "events" ? card.stops.instant[i] : card.stops.seconds[i]);

  // The first and last bucket in sight.
  const span = (level) => {
    let low = 0;
    let high = level.most.length;
    const bound = (place) => {
      low = 0;
      high = level.most.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (begin(level, middle) <= place) low = middle + 1;
        else high = middle;
      }
      return low;
    };
    const first = Math.max(0, bound(from) - 1);
    return [first, Math.max(first + 1, bound(to))];
  };
  const steps = (values, level, first, last) => {
    let path = "";
    for (let i = first; i < last; ++i) {
      const px = Math.max(left, x(begin(level, i))).toFixed(1);
      const py = y(values[i] * TRACE_UNIT).toFixed(1);
      path += path ? `H${px}V${py}` : `M${px} ${py}`;
    }
    return `${path}H${width - right}`;
  };
  const band = (level, first, last) => {
    let path = steps(level.most, level, first, last);
    for (let i = last - 1; i >= first; --i) {
      path += `V${y(level.least[i] * TRACE_UNIT).toFixed(1)}H${Math.max(left, x(begin(level, i))).toFixed(1)}`;
    }
    return `${path}Z`;
  };
  const axes = (picture) => {
    for (const bytes of byteTicks(most, 5)) {
      if (bytes > most * 1.04) break;
      picture.append(svgPart("line", { class: "grid", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) }));
      picture.append(svgPart("text", { class: "end", x: left - 6, y: y(bytes) + 4 }, tickText(bytes)));
    }
    const { step, ticks } = spanTicks(from, to, Math.max(2, Math.floor(width / 140)));
    for (const place of ticks) {
      if (across === "events" && !Number.isInteger(place)) continue;
      const text = across === "events" ? `${place}` : secondsText(place, step);
      picture.append(svgPart("text", { class: "middle", x: x(place), y: height - bottom + 18 }, text));
    }
  };
  // Marks that would stand side by side are one: zoomed in, they come apart.
  const marks = (picture) => {
    let free = left;
    let drawn = -Infinity;
    for (const mark of card.marks) {
      const place = across === "events" ? mark.instant : mark.seconds;
      if (place < from || place > to) continue;
      const isOom = mark.text.startsWith("out of memory");
      const px = x(place);
      if (!isOom && px - drawn < 10) continue;
      drawn = isOom ? drawn : px;
      picture.append(svgPart("line", { class: isOom ? "oom" : "mark", x1: px, x2: px, y1: top, y2: height - bottom }));
      const label = isOom ? "OOM" : mark.text.slice(0, 24);
      const size = label.length * 7.2;
      const at = px + size > width - right ? px - size - 3 : px + 3;
      if (at < free) continue;
      picture.append(svgPart("text", { x: at, y: top - 8, class: isOom ? "strong" : "" }, label));
      free = at + size + 10;
    }
  };
  const draw = () => {
    width = Math.max(320, view.clientWidth);
    let level = card.levels[0];
    for (const finer of card.levels) {
      const [first, last] = span(finer);
      if (last - first <= 2 * width) level = finer;
    }
    const [first, last] = span(level);
    const picture = svgPart("svg", { viewBox: `0 0 ${width} ${height}`, class: "trace", "aria-hidden": "true" });
    axes(picture);
    marks(picture);
    picture.append(svgPart("path", { class: "reserved area", d: `${steps(level.reserved, level, first, last)}V${y(0)}H${left}Z` }));
    picture.append(svgPart("path", { class: "trace-band", d: band(level, first, last) }));
    picture.append(svgPart("path", { class: "reserved", d: steps(level.reserved, level, first, last) }));
    picture.append(svgPart("path", { class: "trace-most", d: steps(level.most, level, first, last) }));
    const place = stopPlace(stop);
    if (place >= from && place <= to) {
      picture.append(svgPart("line", { class: "cursor shown", x1: x(place), x2: x(place), y1: top, y2: height - bottom }));
      picture.append(svgPart("circle", { class: "now", cx: x(place), cy: y(card.stops.allocated[stop]), r: 4 }));
    }
    view.replaceChildren(picture);
  };
  const redraw = onceAFrame(draw);

  const zoom = (how) => {
    const middle = Math.min(to, Math.max(from, stopPlace(stop)));
    const size = to - from;
    const least = across === "events" ? 4 : whole() / Math.max(4, card.entries);
    const set = (start, length) => {
      const bounded = Math.min(whole(), Math.max(least, length));
      from = Math.min(Math.max(0, start), whole() - bounded);
      to = from + bounded;
    };
    if (how === "in") set(middle - (middle - from) / 2, size / 2);
    else if (how === "out") set(middle - (middle - from) * 2, size * 2);
    else if (how === "left") set(from - size / 2, size);
    else if (how === "right") set(from + size / 2, size);
    else set(0, whole());
    redraw();
  };
  const pick = (event) => {
    const frame = view.firstChild.getBoundingClientRect();
    const px = ((event.clientX - frame.left) * width) / frame.width;
    const place = from + ((to - from) * (px - left)) / (width - left - right);
    const values = across === "events" ? card.stops.instant : card.stops.seconds;
    const after = Math.min(values.length - 1, firstAbove(values, place));
    onStop(after > 0 && place - values[after - 1] < values[after] - place ? after - 1 : after);
  };
  view.addEventListener("pointerdown", pick);
  view.addEventListener("pointermove", (event) => event.buttons === 1 && pick(event));
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = card.stops.instant.length - 1;
    const moves = { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: last, PageUp: stop - Math.ceil(last / 20), PageDown: stop + Math.ceil(last / 20) };
    const zooms = { "+": "in", "=": "in", "-": "out", 0: "all" };
    if (event.key in moves) onStop(Math.min(last, Math.max(0, moves[event.key])));
    else if (event.key in zooms) zoom(zooms[event.key]);
    else return;
    event.preventDefault();
  });
  for (const button of figure.querySelectorAll("button[data-zoom]")) {
    button.addEventListener("click", () => zoom(button.dataset.zoom));
  }
  choice?.addEventListener("change", () => {
    across = choice.value;
    zoom("all");
  });
  to = whole();
  figure.querySelector(".trace-zoom").hidden = false;
  view.hidden = false;
  new ResizeObserver(redraw).observe(view);
  return {
    show(now) {
      stop = now;
      const place = stopPlace(stop);
      if (place < from || place > to) {
        const size = to - from;
        from = Math.min(Math.max(0, place - size / 2), whole() - size);
        to = from + size;
      }
      redraw();
    },
  };
}
