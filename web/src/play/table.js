// A result as a table. Only the rows that can be seen are in the page, so a hundred thousand scroll like ten.

import { debounce, fill, h } from "../common/dom.js";
import { cell, cells, isNumber } from "../common/tsv.js";

const ROW = 27;
const OVERSCAN = 12;
/** Rows whose cells are measured for the widths of columns. */
const MEASURED = 200;
const LETTER = 7.9;
const WIDTH_MIN = 56;
const WIDTH_MAX = 420;
/** Longer texts are cut where they are shown in a row. */
const SHOWN_MAX = 300;

/** A table for a run's rows. `open` is called with a column's name, type and text when a cell is to be seen whole. */
export function makeTable({ open }) {
  const head = h("div", { class: "grid-head", role: "row" });
  const body = h("div", { class: "grid-body" });
  const element = h("div", { class: "grid", tabIndex: 0, role: "grid", "aria-label": "Result", onscroll: draw, onkeydown: key }, head, body);
  let run = null;
  let order = null;
  let sorted = { column: -1, isDown: false };
  let at = { row: 0, column: 0 };
  let shown = { from: -1, to: -1 };
  let widths = "";
  new ResizeObserver(debounce(30, () => redraw())).observe(element);

  /** Shows a run; the same one again where it has more rows. */
  function show(next) {
    const isSame = next === run;
    run = next;
    if (!isSame) {
      order = null;
      sorted = { column: -1, isDown: false };
      at = { row: 0, column: 0 };
      element.scrollTop = 0;
      element.scrollLeft = 0;
      widths = "";
    }
    if (!widths && run.names.length > 0 && (run.lines.length > 0 || run.state !== "running")) layOut();
    element.setAttribute("aria-rowcount", String(run.lines.length));
    body.style.height = `${run.lines.length * ROW}px`;
    redraw();
  }

  function layOut() {
    const longest = run.names.map((name, column) => Math.max(name.length + 2, (run.types[column]?.length ?? 0) * 0.92));
    for (const line of run.lines.slice(0, MEASURED)) {
      cells(line).forEach((text, column) => (longest[column] = Math.max(longest[column], Math.min((text ?? "NULL").length, 80))));
    }
    const number = Math.max(48, String(run.lines.length).length * LETTER + 24);
    const sizes = longest.map((letters) => Math.min(Math.max(letters * LETTER + 22, WIDTH_MIN), WIDTH_MAX));
    widths = [number, ...sizes].map((size) => `${Math.round(size)}px`).join(" ");
    const whole = number + sizes.reduce((sum, size) => sum + size, 0);
    body.style.width = head.style.width = `max(100%, ${Math.round(whole)}px)`;
    head.style.gridTemplateColumns = widths;
    drawHead();
  }

  function drawHead() {
    const column = (name, place) => {
      const isSorted = sorted.column === place;
      const arrow = isSorted ? (sorted.isDown ? " ↓" : " ↑") : "";
      return h(
        "button",
        { class: `cell${isNumber(run.types[place]) ? " number" : ""}`, role: "columnheader", title: `${name} ${run.types[place]}\nClick to sort`, onclick: () => sort(place), "aria-sort": isSorted ? (sorted.isDown ? "descending" : "ascending") : "none" },
        h("span", { class: "name" }, name, arrow),
        h("span", { class: "type" }, run.types[place]),
      );
    };
    fill(head, h("span", { class: "cell place" }), run.names.map(column));
  }

  function sort(column) {
    if (sorted.column !== column) sorted = { column, isDown: false };
    else if (!sorted.isDown) sorted = { column, isDown: true };
    else sorted = { column: -1, isDown: false };
    order = null;
    if (sorted.column >= 0) {
      const values = run.lines.map((line) => cell(line.split("\t", column + 1)[column]));
      const compare = isNumber(run.types[column]) ? (a, b) => Number(a) - Number(b) : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
      // NULL comes last, as in ORDER BY.
      const inOrder = (a, b) => (values[a] === null) - (values[b] === null) || (sorted.isDown ? compare(values[b], values[a]) : compare(values[a], values[b])) || a - b;
      order = Uint32Array.from(run.lines.keys()).sort(inOrder);
    }
    drawHead();
    redraw();
  }

  function lineOf(row) {
    return run.lines[order && row < order.length ? order[row] : row];
  }

  function redraw() {
    shown = { from: -1, to: -1 };
    draw();
  }

  function draw() {
    if (!run) return;
    const from = Math.max(0, Math.floor(element.scrollTop / ROW) - OVERSCAN);
    const to = Math.min(run.lines.length, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + OVERSCAN);
    if (from === shown.from && to === shown.to) return;
    shown = { from, to };
    const made = [];
    for (let row = from; row < to; row += 1) made.push(drawRow(row));
    body.replaceChildren(...made);
  }

  function drawRow(row) {
    const made = cells(lineOf(row)).map((text, column) => {
      const classes = ["cell"];
      if (isNumber(run.types[column])) classes.push("number");
      if (text === null) classes.push("null");
      if (row === at.row && column === at.column) classes.push("at");
      return h("span", { class: classes.join(" "), role: "gridcell" }, text === null ? "NULL" : text.slice(0, SHOWN_MAX));
    });
    const element = h("div", { class: `row${row % 2 ? " odd" : ""}`, role: "row", "aria-rowindex": row + 1 }, h("span", { class: "cell place" }, String(row + 1)), made);
    element.style.transform = `translateY(${row * ROW}px)`;
    element.style.gridTemplateColumns = widths;
    return element;
  }

  body.addEventListener("mousedown", (event) => {
    const place = placeOf(event.target);
    if (place) select(place);
  });
  body.addEventListener("dblclick", (event) => placeOf(event.target) && openCell());

  function placeOf(target) {
    const found = target.closest(".cell:not(.place)");
    if (!found) return null;
    return { row: Number(found.parentElement.getAttribute("aria-rowindex")) - 1, column: [...found.parentElement.children].indexOf(found) - 1 };
  }

  function select(place) {
    at = place;
    for (const old of body.querySelectorAll(".at")) old.classList.remove("at");
    body.querySelector(`[aria-rowindex="${place.row + 1}"]`)?.children[place.column + 1]?.classList.add("at");
  }

  function openCell() {
    if (run.lines.length > 0) open(run.names[at.column], run.types[at.column], cells(lineOf(at.row))[at.column]);
  }

  function key(event) {
    if (!run || run.lines.length === 0) return;
    const page = Math.max(1, Math.floor(element.clientHeight / ROW) - 2);
    const [row, column] = [at.row, at.column];
    const isFar = event.ctrlKey || event.metaKey;
    const moves = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [row - page, column],
      PageDown: [row + page, column],
      Home: isFar ? [0, column] : [row, 0],
      End: isFar ? [run.lines.length - 1, column] : [row, run.names.length - 1],
    };
    if (event.key === "Enter") openCell();
    else if (isFar && event.key === "c" && !getSelection().toString()) navigator.clipboard?.writeText(cells(lineOf(row))[column] ?? "NULL");
    else if (moves[event.key]) {
      const [toRow, toColumn] = moves[event.key];
      at = { row: clamp(toRow, run.lines.length), column: clamp(toColumn, run.names.length) };
      reveal();
      redraw();
    } else return;
    event.preventDefault();
  }

  function reveal() {
    const top = at.row * ROW;
    const seen = element.clientHeight - head.offsetHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW > element.scrollTop + seen) element.scrollTop = top + ROW - seen;
    const found = head.children[at.column + 1];
    const first = head.firstElementChild.offsetWidth;
    if (found.offsetLeft - first < element.scrollLeft) element.scrollLeft = found.offsetLeft - first;
    else if (found.offsetLeft + found.offsetWidth > element.scrollLeft + element.clientWidth) element.scrollLeft = found.offsetLeft + found.offsetWidth - element.clientWidth;
  }

  return { element, show };
}

function clamp(value, length) {
  return Math.min(Math.max(value, 0), length - 1);
}
