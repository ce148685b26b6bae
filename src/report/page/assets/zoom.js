// A span of a picture's axis: dragging over the picture zooms in on what was dragged over, a click chooses a place.
// `left` and `right`: the picture's margins; `whole` and `least`: the longest and the shortest span.
function makeZoom(figure, view, { left, right, whole, least, middle, onChange, onClick }) {
  const span = { from: 0, to: whole() };
  const set = (from, size) => {
    const bounded = Math.min(whole(), Math.max(least(), size));
    span.from = Math.min(Math.max(0, from), whole() - bounded);
    span.to = span.from + bounded;
    onChange();
  };
  const widthOf = () => view.firstChild.viewBox.baseVal.width;
  const across = (event) => {
    const frame = view.firstChild.getBoundingClientRect();
    return ((event.clientX - frame.left) * widthOf()) / frame.width;
  };
  const placeAt = (px) => span.from + ((span.to - span.from) * (px - left)) / (widthOf() - left - right);
  const zoom = (how) => {
    const size = span.to - span.from;
    const at = Math.min(span.to, Math.max(span.from, middle()));
    if (how === "in") set(at - (at - span.from) / 2, size / 2);
    else if (how === "out") set(at - (at - span.from) * 2, size * 2);
    else if (how === "left") set(span.from - size / 2, size);
    else if (how === "right") set(span.from + size / 2, size);
    else set(0, whole());
  };
  let begin = null;
  const drop = () => {
    begin = null;
    view.querySelector(".dragged")?.remove();
  };
  const show = (to) => {
    let box = view.querySelector(".dragged");
    if (!box) {
      box = svgPart("rect", { class: "dragged", y: 0, height: view.firstChild.viewBox.baseVal.height });
      view.firstChild.append(box);
    }
    box.setAttribute("x", Math.max(left, Math.min(begin, to)));
    box.setAttribute("width", Math.abs(to - begin));
  };
  const isDrag = (px) => begin !== null && Math.abs(px - begin) > 6;
  view.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    begin = across(event);
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", (event) => isDrag(across(event)) && show(across(event)));
  view.addEventListener("pointerup", (event) => {
    const end = across(event);
    if (isDrag(end)) {
      const [from, to] = [placeAt(Math.min(begin, end)), placeAt(Math.max(begin, end))];
      set(from, to - from);
    } else if (begin !== null) onClick?.(event, placeAt(end));
    drop();
  });
  view.addEventListener("pointercancel", drop);
  view.addEventListener("dblclick", () => zoom("all"));
  view.addEventListener("keydown", (event) => {
    const how = { "+": "in", "=": "in", "-": "out", 0: "all" }[event.key];
    if (!how || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    zoom(how);
  });
  for (const button of figure.querySelectorAll("button[data-zoom]")) {
    button.addEventListener("click", () => zoom(button.dataset.zoom));
  }
  return { span, set, zoom, across, placeAt };
}
