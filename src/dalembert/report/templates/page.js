"use strict";
// Theme, parameter table, choice of the log, printing.
(() => {
  const root = document.documentElement;

  function theme(name) {
    root.dataset.theme = name;
    Plots.redraw();
    Motion?.paint();
  }
  document.getElementById("theme").addEventListener("click", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => theme(event.matches ? "dark" : "light"));

  // --- the parameter table
  const table = document.getElementById("parameter-table"), body = table.tBodies[0];
  const filter = document.getElementById("filter"), shown = document.getElementById("shown");
  const chips = [...document.querySelectorAll(".chip")];

  function sift() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const states = chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => c.dataset.state);
    let count = 0;
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !(words.every((word) => text.includes(word)) && (!states.length || states.includes(row.dataset.state)));
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = count === body.rows.length ? "" : `${count} of ${body.rows.length}`;
  }
  filter.addEventListener("input", sift);
  for (const chip of chips)
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      sift();
    });

  function sort(button) {
    const head = button.closest("th"), column = button.dataset.column;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => (column === "word" ? row.dataset.word : Number(row.dataset[column]));
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.dataset.number - b.dataset.number);
    body.append(...[...body.rows].sort((a, b) => (down ? -order(a, b) : order(a, b))));
  }
  for (const button of table.tHead.querySelectorAll("button")) button.addEventListener("click", () => sort(button));

  // --- which log all sections show
  const choosers = [...document.querySelectorAll("[data-chooser]")], runs = document.querySelectorAll("[data-run]");
  function choose(number) {
    for (const chooser of choosers) chooser.value = number;
    for (const run of runs) run.hidden = run.dataset.run !== number;
    Motion?.choose(Number(number));
    Plots.redraw();
  }
  for (const chooser of choosers) chooser.addEventListener("change", () => choose(chooser.value));
  if (choosers.length) choose("0");
  for (const button of document.querySelectorAll("[data-zoom]"))
    button.addEventListener("click", () => Plots.step(button.dataset.link, button.dataset.zoom));

  // --- printing: light, opened, every plot drawn
  let kept = null;
  window.addEventListener("beforeprint", () => {
    kept = { theme: root.dataset.theme, closed: [...document.querySelectorAll("details.print-open:not([open])")] };
    for (const item of kept.closed) item.open = true;
    root.dataset.theme = "light";
    Plots.redraw();
    Plots.all().then(Plots.toPaper); // without waiting, once the library is there
    Motion?.paint();
  });
  window.addEventListener("afterprint", () => {
    for (const item of kept.closed) item.open = false;
    theme(kept.theme);
  });

  Plots.start();
})();
