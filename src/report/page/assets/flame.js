// A flame graph, drawn from its root downwards: a tree of names (parents before children) and what each node holds itself.
const FLAME_ROW = 20;
function childrenOf(parent) {
  const start = new Uint32Array(parent.length + 1);
  for (let i = 1; i < parent.length; ++i) ++start[parent[i] + 1];
  for (let i = 1; i < start.length; ++i) start[i] += start[i - 1];
  const at = start.slice();
  const list = new Uint32Array(Math.max(0, parent.length - 1));
  for (let i = 1; i < parent.length; ++i) list[at[parent[i]]++] = i;
  return (node) => list.subarray(start[node], start[node + 1]);
}
// "forward /data/me/net.py:12" -> "forward net.py:12"
function shortName(name) {
  return name.replace(/\S*\/(?=[^\s/]+$)/, "");
}
function isLibrary(name) {
  return /site-packages\/|\/lib\/python|\/torch\/|\.cpp:|\(C\+\+\)$|(^|\s)<[^\s]*$/.test(name);
}
function makeFlame(figure) {
  const view = figure.querySelector(".view");
  const told = figure.querySelector(".told");
  let model = null;
  let root = 0;
  let chosen = 0;
  let boxes = [];
  let top = 0; // the first frame below "all" that is drawn
  const parentOf = (node) => (node === top ? 0 : model.tree.parent[node]);
  const nameOf = (node) => (node === 0 ? "all" : model.tree.names[model.tree.name[node]]);
  const childrenBySize = (node) =>
    [...model.children(node)].filter((child) => model.total[child] > 0).sort((a, b) => model.total[b] - model.total[a]);

  const tell = () => {
    const path = [];
    for (let node = chosen; node !== 0; node = model.tree.parent[node]) path.push(shortName(nameOf(node)));
    const blocks = model.blocks ? `, ${model.blocks[chosen]} blocks` : "";
    told.textContent =
      `${nameOf(chosen)}: ${bytesText(model.total[chosen])}, ${shareText(model.total[chosen], model.whole)}${blocks}` +
      (path.length > 1 ? `; called by ${path.slice(1, 4).join(", ")}` : "");
  };
  const mark = () => {
    for (const part of view.querySelectorAll(".chosen")) part.classList.remove("chosen");
    view.querySelector(`[data-node="${chosen}"]`)?.classList.add("chosen");
  };
  const choose = (node) => {
    chosen = node;
    mark();
    tell();
  };

  const draw = () => {
    const width = Math.max(320, view.clientWidth);
    boxes = [];
    const place = (node, x, size, depth) => {
      boxes.push({ node, x, depth, width: size });
      if (depth > 90) return;
      let at = x;
      for (const child of childrenBySize(node)) {
        const share = (size * model.total[child]) / model.total[node];
        if (share >= 0.5) place(child, at, share, depth + 1);
        at += share;
      }
    };
    if (root === 0 || model.total[root] <= 0) {
      // Frames that all stacks share say nothing: the picture begins below them.
      const kept = model.whole > 0 ? (width * model.total[0]) / model.whole : 0;
      let first = 0;
      for (let only = childrenBySize(first); only.length === 1 && model.total[only[0]] === model.total[first]; ) {
        first = only[0];
        only = childrenBySize(first);
      }
      top = first;
      boxes.push({ node: 0, x: 0, depth: 0, width });
      if (first !== 0) place(first, 0, kept, 1);
      else {
        let at = 0;
        for (const child of childrenBySize(0)) {
          const share = (kept * model.total[child]) / model.total[0];
          if (share >= 0.5) place(child, at, share, 1);
          at += share;
        }
      }
      if (model.extra > 0 && width - kept >= 0.5) boxes.push({ node: -1, x: kept, depth: 1, width: width - kept });
    } else place(root, 0, width, 0);
    const depth = Math.max(...boxes.map((box) => box.depth)) + 1;
    const picture = svgPart("svg", { viewBox: `0 0 ${width} ${depth * FLAME_ROW}`, class: "flame", "aria-hidden": "true" });
    for (const box of boxes) {
      const name = box.node < 0 ? model.extraText : box.node === 0 ? `all: ${bytesText(model.whole)}` : nameOf(box.node);
      const kind = box.node < 0 ? "mixed" : box.node === 0 ? "whole" : isLibrary(name) ? "library" : "own";
      const part = { x: box.x.toFixed(2), y: box.depth * FLAME_ROW, height: FLAME_ROW - 1, width: Math.max(0.4, box.width - 0.6).toFixed(2) };
      picture.append(svgPart("rect", { ...part, class: `frame ${kind}`, "data-node": box.node }));
      const letters = Math.floor((box.width - 8) / 7);
      const label = shortName(name);
      if (letters >= 4) {
        const shown = label.length > letters ? `${label.slice(0, letters - 1)}…` : label;
        picture.append(svgPart("text", { x: (box.x + 4).toFixed(2), y: box.depth * FLAME_ROW + 14 }, shown));
      }
    }
    view.replaceChildren(picture);
    mark();
  };
  const redraw = onceAFrame(() => model && draw());

  const boxAt = (event) => {
    const frame = view.firstChild.getBoundingClientRect();
    const scale = view.firstChild.viewBox.baseVal.width / frame.width;
    const x = (event.clientX - frame.left) * scale;
    const depth = Math.floor(((event.clientY - frame.top) * scale) / FLAME_ROW);
    return boxes.find((box) => box.depth === depth && box.x <= x && x < box.x + box.width);
  };
  const zoom = (node) => {
    root = node;
    redraw();
    choose(node);
  };
  const walk = (key) => {
    const below = (node) => (node === 0 && top !== 0 ? [top] : childrenBySize(node));
    const parent = parentOf(chosen);
    const around = below(parent);
    const place = around.indexOf(chosen);
    const next = {
      ArrowDown: () => below(chosen)[0],
      ArrowUp: () => parent,
      ArrowLeft: () => around[place - 1],
      ArrowRight: () => (chosen === 0 ? undefined : around[place + 1]),
    }[key]();
    if (next !== undefined) choose(next);
  };
  view.addEventListener("pointermove", (event) => {
    const box = boxAt(event);
    if (!box) return;
    if (box.node < 0) told.textContent = model.extraText;
    else if (box.node !== chosen) choose(box.node);
  });
  view.addEventListener("click", (event) => {
    const box = boxAt(event);
    if (box && box.node >= 0) zoom(box.node === root ? parentOf(root) : box.node);
  });
  view.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) walk(event.key);
    else if (event.key === "Enter") zoom(chosen);
    else if (event.key === "Escape") zoom(parentOf(root));
    else return;
    event.preventDefault();
  });
  for (const button of figure.querySelectorAll("button[data-flame]")) {
    button.addEventListener("click", () => zoom(button.dataset.flame === "all" ? 0 : parentOf(root)));
  }
  new ResizeObserver(redraw).observe(view);
  view.hidden = false;

  return {
    // `self` and `blocks`: of each node; `extra` bytes are in no node.
    show(tree, self, blocks, extra = 0, extraText = "") {
      const isNew = model?.tree !== tree;
      const total = self.slice();
      const counted = blocks?.slice();
      for (let i = total.length - 1; i > 0; --i) {
        total[tree.parent[i]] += total[i];
        if (counted) counted[tree.parent[i]] += counted[i];
      }
      const children = isNew ? childrenOf(tree.parent) : model.children;
      model = { tree, total, blocks: counted, children, extra, extraText, whole: total[0] + extra };
      if (isNew) root = chosen = top = 0;
      redraw();
    },
  };
}
