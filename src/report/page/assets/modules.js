// Tables of modules: parts fold away under their module, and a column's head sorts the modules beside each other.
for (const table of document.querySelectorAll("table.modules")) {
  const body = table.tBodies[0];
  const top = { children: [], depth: -1, open: true };
  const path = [top];
  const nodes = [...body.rows].map((row, order) => {
    const node = { row, order, depth: Number(row.dataset.depth), children: [], open: false };
    while (path[path.length - 1].depth >= node.depth) path.pop();
    path[path.length - 1].children.push(node);
    path.push(node);
    return node;
  });
  const few = nodes.length <= 40;
  const show = (node, visible) => {
    for (const child of node.children) {
      child.row.hidden = !visible;
      show(child, visible && child.open);
    }
  };
  const place = (node) => {
    for (const child of node.children) {
      body.append(child.row);
      place(child);
    }
  };
  for (const node of nodes) {
    const head = node.row.cells[0];
    if (node.children.length === 0) {
      head.classList.add("leaf");
      continue;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.setAttribute("aria-label", `Parts of ${head.title || head.textContent}`);
    const turn = (open) => {
      node.open = open;
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "▾" : "▸";
    };
    turn(few || node.depth === 0);
    button.addEventListener("click", () => {
      turn(!node.open);
      show(top, true);
    });
    head.prepend(button);
  }
  const value = (node, column) => {
    const cell = node.row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  };
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const largest = head.classList.contains("number");
      const before = head.getAttribute("aria-sort");
      const order = before === null ? (largest ? "descending" : "ascending") : before === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const compare = (left, right) => {
        // The first column stands for the order in which the model lists them.
        const [a, b] = column === 0 ? [left.order, right.order] : [value(left, column), value(right, column)];
        return (a < b ? -sign : a > b ? sign : left.order - right.order);
      };
      const sort = (node) => {
        node.children.sort(compare);
        node.children.forEach(sort);
      };
      sort(top);
      place(top);
    });
  });
  show(top, true);
}
