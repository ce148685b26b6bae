// The memory of several runs over time in one picture.
const OVERLAY = { height: 340, left: 76, right: 16, top: 14, bottom: 34 };
function readOverlay(figure) {
  const boxes = figure.querySelectorAll("ul.legend input");
  return [...figure.querySelectorAll("template")].map((template, i) => {
    const { numbers } = unpackParts(template);
    return {
      number: template.dataset.run,
      css: template.dataset.class,
      box: boxes[i],
      seconds: numbers("seconds"),
      levels: Object.fromEntries(["used", "reserved", "allocated"].map((name) => [name, numbers(name)])),
    };
  });
}
// What a run had at a moment; NaN: not known, or before its beginning or after its end.
function overlayLevel(run, measure, at) {
  const after = firstAbove(run.seconds, at);
  return after === 0 || at > run.seconds[run.seconds.length - 1] ? NaN : run.levels[measure][after - 1];
}
function startOverlay(figure) {
  const view = figure.querySelector(".view");
  const told = figure.querySelector(".told");
  const choice = figure.querySelector("select");
  const runs = readOverlay(figure);
  const { height, left, right, top, bottom } = OVERLAY;
  let width = 960;
  let most = 1;
  let moment = null;
  const shown = () => runs.filter((run) => run.box.checked);
  const whole = () => Math.max(1e-6, ...runs.map((run) => run.seconds[run.seconds.length - 1]));
  const zoom = makeZoom(figure, view, {
    left, right, whole,
    least: () => whole() / 1e5,
    middle: () => moment ?? (zoom.span.from + zoom.span.to) / 2,
    onChange: () => redraw(),
    onClick: (_, at) => show(at),
  });
  const x = (at) => left + ((width - left - right) * (at - zoom.span.from)) / (zoom.span.to - zoom.span.from);
  const y = (bytes) => height - bottom - ((height - top - bottom) * bytes) / most;
  const inside = (px) => Math.min(width - right, Math.max(left, px));

  const lineOf = (run) => {
    const levels = run.levels[choice.value];
    let path = "";
    let goesOn = false;
    const first = Math.max(0, firstAbove(run.seconds, zoom.span.from) - 1);
    for (let i = first; i < levels.length; ++i) {
      const px = inside(x(run.seconds[i])).toFixed(1);
      if (goesOn) path += `H${px}`;
      if (run.seconds[i] > zoom.span.to) break;
      const isKnown = !Number.isNaN(levels[i]);
      if (isKnown) path += goesOn ? `V${y(levels[i]).toFixed(1)}` : `M${px} ${y(levels[i]).toFixed(1)}`;
      goesOn = isKnown;
    }
    return svgPart("path", { class: run.css, d: path, "data-run": run.number });
  };
  const axes = (picture, ticks) => {
    for (const bytes of ticks) {
      picture.append(svgPart("line", { class: "grid", x1: left, x2: width - right, y1: y(bytes), y2: y(bytes) }));
      picture.append(svgPart("text", { class: "end", x: left - 8, y: y(bytes) + 4 }, tickText(bytes)));
    }
    const seconds = spanTicks(zoom.span.from, zoom.span.to, Math.max(2, Math.floor((width - left) / 90)));
    for (const at of seconds.ticks) {
      picture.append(svgPart("text", { class: x(at) > width - 30 ? "end" : "middle", x: x(at), y: height - 12 }, secondsText(at, seconds.step)));
    }
  };
  const draw = () => {
    width = Math.max(300, view.clientWidth);
    const levels = shown().flatMap((run) => [...run.levels[choice.value]]).filter((level) => !Number.isNaN(level));
    const ticks = byteTicks(levels.reduce((largest, level) => Math.max(largest, level), 1), 5);
    most = ticks.at(-1);
    const picture = svgPart("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
    axes(picture, ticks);
    for (const run of shown()) picture.append(lineOf(run));
    picture.append(svgPart("line", { class: "cursor", y1: top, y2: height - bottom }));
    view.replaceChildren(picture);
    if (moment !== null) show(moment);
  };
  const redraw = onceAFrame(draw);
  const show = (at) => {
    moment = Math.min(zoom.span.to, Math.max(zoom.span.from, at));
    const line = view.querySelector(".cursor");
    for (const end of ["x1", "x2"]) line?.setAttribute(end, x(moment));
    line?.classList.add("shown");
    const words = shown()
      .map((run) => [run.number, overlayLevel(run, choice.value, moment)])
      .filter(([, level]) => !Number.isNaN(level))
      .sort((one, other) => other[1] - one[1])
      .map(([number, level]) => `run ${number}: ${bytesText(level)}`);
    told.textContent = `${moment.toFixed(3)} s: ${words.join(", ") || "no run tells of this moment"}`;
  };
  view.addEventListener("pointermove", (event) => event.buttons === 0 && show(zoom.placeAt(zoom.across(event))));
  view.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show((moment ?? zoom.span.from) + (step * (zoom.span.to - zoom.span.from)) / 100);
  });
  choice.addEventListener("change", redraw);
  for (const run of runs) {
    run.box.hidden = false;
    run.box.addEventListener("change", redraw);
  }
  figure.querySelector(".overlay-still").hidden = true;
  figure.querySelector(".trace-zoom").hidden = false;
  view.hidden = false;
  new ResizeObserver(redraw).observe(view);
}
for (const figure of document.querySelectorAll("figure.overlay")) startOverlay(figure);
