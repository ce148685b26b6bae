"use strict";
// The page is whole without this. It adds a cursor to the timelines, and opens what is closed for printing.
for (const figure of document.querySelectorAll("figure.timeline")) {
  const control = figure.querySelector(".cursor-control");
  const slider = control.querySelector("input");
  const output = control.querySelector("output");
  const charts = [...figure.querySelectorAll("svg.chart")]; // a wide and a slim one: one of them is in sight
  const spanOf = (chart) => [Number(chart.dataset.left), Number(chart.dataset.right)];
  const [left, right] = spanOf(charts[0]); // places are told in the wide one's units
  const rows = [...figure.querySelectorAll("tbody tr")];
  const places = rows.map((row) => Number(row.querySelector("[data-x]").dataset.x));
  const titles = [...figure.querySelectorAll("thead th")].map((head) => head.textContent);
  const show = (index) => {
    const cells = [...rows[index].cells].map((cell) => cell.textContent);
    for (const chart of charts) {
      const line = chart.querySelector(".cursor");
      const [from, to] = spanOf(chart);
      const place = from + ((to - from) * (places[index] - left)) / (right - left);
      line.setAttribute("x1", place);
      line.setAttribute("x2", place);
      line.classList.add("shown");
    }
    const of = (title) => cells[titles.indexOf(title)];
    const used = of("everything") ? `, ${of("everything")} with everything on the card` : "";
    const mark = of("mark") ? `, mark: ${of("mark")}` : "";
    output.textContent = `${cells[0]}, ${cells[1]}: ${cells[2]} allocated, ${cells[3]} reserved${used}${mark}`;
    slider.setAttribute("aria-valuetext", output.textContent);
  };
  // Memory keeps a point's value until the next one: the last point at or before the place.
  const find = (place) => {
    let low = 0;
    let high = places.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (places[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  for (const chart of charts) {
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const [from, to] = spanOf(chart);
      const at = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const index = find(left + ((right - left) * (at - from)) / (to - from));
      slider.value = String(index);
      show(index);
    });
  }
  control.hidden = false;
  show(0);
}
const opened = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) {
    part.open = true;
    opened.push(part);
  }
});
addEventListener("afterprint", () => {
  for (const part of opened.splice(0)) part.open = false;
});
