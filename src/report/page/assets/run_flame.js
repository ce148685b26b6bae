// The flame graphs of runs.
for (const figure of document.querySelectorAll("figure.run-flame")) {
  const read = unpackParts(figure.querySelector("template"));
  const by = figure.querySelector("select");
  figure.hidden = false;
  const flame = makeFlame(figure);
  const trees = new Map();
  const show = () => {
    const name = by.value;
    if (!trees.has(name)) trees.set(name, [read.tree(name), read.numbers(`${name}-bytes`), read.numbers(`${name}-blocks`)]);
    flame.show(...trees.get(name));
  };
  by.addEventListener("change", show);
  show();
}
