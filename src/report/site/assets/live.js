// Draws the memory of a run's virtual cards while it goes on, and turns to its report when it has ended.
const state = document.querySelector(".live-state");
const place = document.querySelector(".live-cards");
const none = document.querySelector(".live-none");
const number = state.dataset.run;
const cards = new Map();
let latest = 0;

const kHeight = 300;
const kLeft = 76;
const kRight = 20;
const kTop = 14;
const kBottom = 34;
const kMostCharts = 8;

const told = (bytes) => (bytes === null ? "unknown" : bytesText(bytes));
const say = (text, mood) => {
  if (state.textContent !== text) state.textContent = text;
  state.className = `verdict live-state ${mood}`;
};

// Memory stays where it is until the next point. What is not known is not drawn.
const pathOf = (points, member, x, y) => {
  let path = "";
  let goesOn = false;
  for (const point of points) {
    const isKnown = point[member] !== null;
    if (goesOn) path += `H${x(point[0]).toFixed(1)}`;
    if (isKnown) path += goesOn ? `V${y(point[member]).toFixed(1)}` : `M${x(point[0]).toFixed(1)} ${y(point[member]).toFixed(1)}`;
    goesOn = isKnown;
  }
  return path;
};
// The picture is as wide as its place: texts keep their size on a telephone.
const draw = (card) => {
  const points = card.points;
  if (points.length === 0) return;
  const width = Math.max(300, card.figure.clientWidth);
  const from = points[0][0];
  const to = Math.max(points[points.length - 1][0], from + 1000);
  const highest = Math.max(card.peak_bytes ?? 0, 1);
  const ticks = byteTicks(card.total_bytes <= 3 * highest ? Math.max(card.total_bytes, highest) : highest, 5);
  const most = ticks.at(-1);
  const x = (at) => kLeft + ((width - kLeft - kRight) * (at - from)) / (to - from);
  const y = (bytes) => kHeight - kBottom - ((kHeight - kTop - kBottom) * bytes) / most;
  const parts = [];
  for (const bytes of ticks) {
    parts.push(svgPart("line", { class: "grid", x1: kLeft, x2: width - kRight, y1: y(bytes), y2: y(bytes) }));
    parts.push(svgPart("text", { class: "end", x: kLeft - 8, y: y(bytes) + 4 }, tickText(bytes)));
  }
  const seconds = spanTicks(0, (to - from) / 1000, Math.max(2, Math.floor(width / 110)));
  for (const at of seconds.ticks) {
    const place = x(from + at * 1000);
    parts.push(svgPart("text", { class: place > width - 30 ? "end" : "middle", x: place, y: kHeight - 10 }, secondsText(at, seconds.step)));
  }
  parts.push(svgPart("path", { class: "used", d: pathOf(points, 1, x, y) }));
  parts.push(svgPart("path", { class: "reserved", d: pathOf(points, 3, x, y) }));
  parts.push(svgPart("path", { class: "allocated", d: pathOf(points, 2, x, y) }));
  if (card.total_bytes <= most) {
    const limit = y(card.total_bytes);
    parts.push(svgPart("line", { class: "limit", x1: kLeft, x2: width - kRight, y1: limit, y2: limit }));
  }
  card.chart.setAttribute("viewBox", `0 0 ${width} ${kHeight}`);
  card.chart.replaceChildren(...parts);
  const last = points[points.length - 1];
  const torch = last[2] === null ? "" : `; PyTorch: ${bytesText(last[2])} allocated (dashed), ${bytesText(last[3])} reserved (blue)`;
  const gone = card.alive ? "now" : "when it ended";
  card.numbers.textContent =
      `${told(card.used_bytes)} ${gone} (grey line), peak ${told(card.peak_bytes)}, of ${told(card.total_bytes)}${torch}`;
};
const add = (given) => {
  const figure = document.createElement("figure");
  const title = document.createElement("figcaption");
  title.textContent = `card ${given.index}, ${given.name}`;
  const numbers = document.createElement("p");
  numbers.className = "live-numbers";
  const chart = svgPart("svg", { class: "chart live", role: "img",
                             "aria-label": `memory of card ${given.index} over time; the line above tells the numbers` });
  figure.append(title, numbers, chart);
  place.append(figure);
  const card = { points: [], chart, numbers, figure };
  new ResizeObserver(onceAFrame(() => draw(card))).observe(figure);
  return card;
};
const take = (given) => {
  const key = `${given.session}/${given.index}`;
  if (!cards.has(key)) cards.set(key, add(given));
  const card = cards.get(key);
  card.points.push(...given.points);
  for (const point of given.points) latest = Math.max(latest, point[0]);
  Object.assign(card, { used_bytes: given.used_bytes, peak_bytes: given.peak_bytes, total_bytes: given.total_bytes,
                        alive: given.alive });
  draw(card);
};
// Shows the sessions that go on, of many, and the newest.
const prune = () => {
  const all = [...cards.values()];
  const kept = new Set([...all.filter((card) => card.alive), ...all.slice(-2)].slice(0, kMostCharts));
  for (const card of all) card.figure.hidden = !kept.has(card);
};

let failures = 0;
const follow = async () => {
  let goes_on = true;
  try {
    const answer = await fetch(`/runs/${number}/live.json?after=${latest}`);
    if (answer.status === 404) {
      say("This run is no longer in the history.", "bad");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const now = await answer.json();
    for (const card of now.cards) take(card);
    prune();
    none.hidden = now.cards.length > 0;
    failures = 0;
    if (now.state === "ended") {
      say("ended", "good");
      location.reload();
      return;
    }
    if (now.state === "interrupted") {
      say("lost: the job died without telling a result. This is the memory as it was last seen.", "bad");
      goes_on = false;
    } else {
      say("running", "");
    }
  } catch {
    ++failures;
    if (failures > 1) say("connection lost: vramfit serve does not answer. Trying again.", "unsure");
  }
  if (goes_on) setTimeout(follow, document.hidden ? 5000 : Math.min(1000 * 2 ** failures, 10000));
};
follow();
