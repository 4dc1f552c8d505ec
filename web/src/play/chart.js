// A result as a chart: which columns are drawn, and how.

import { BARS, drawChart } from "../common/chart.js";
import { fill, h } from "../common/dom.js";
import { whole } from "../common/quantity.js";
import { cells, isNumber, isTime, timeOf } from "../common/tsv.js";

/** Lines that one chart may have: more cannot be told apart. */
const SERIES_MAX = 10;
const KINDS = [
  ["line", "Lines"],
  ["area", "Areas"],
  ["bar", "Bars"],
  ["point", "Points"],
];

/** A chart of a run's rows. */
export function makeChart() {
  const choices = h("div", { class: "choices" });
  const plot = h("div", { class: "plot" });
  const element = h("div", { class: "chart" }, choices, plot);
  let run = null;
  let rowsDrawn = -1;
  let chosen = null;
  let chart = null;

  function show(next) {
    if (next === run && (rowsDrawn === next.lines.length || next.state === "running")) return;
    const columns = JSON.stringify([next.names, next.types]);
    if (!chosen || chosen.columns !== columns) chosen = { columns, ...suggestion(next) };
    run = next;
    rowsDrawn = next.lines.length;
    draw();
  }

  function draw() {
    chart?.destroy();
    chart = null;
    fill(choices);
    const numeric = run.names.filter((_, at) => isNumber(run.types[at]));
    if (run.lines.length === 0 || numeric.length === 0) {
      fill(plot, h("p", { class: "empty muted" }, run.lines.length === 0 ? "There are no rows to draw." : "A chart needs a column of numbers."));
      return;
    }
    const select = (label, options, value, change) =>
      h("label", null, label, h("select", { "aria-label": label, onchange: (event) => (change(event.target.value), draw()) }, options.map(([key, text]) => h("option", { value: key, selected: key === value }, text))));
    const named = (names) => names.map((name) => [name, name]);
    fill(
      choices,
      select("Draw", KINDS, chosen.kind, (kind) => (chosen.kind = kind)),
      select("along", named(run.names), chosen.x, (x) => (chosen.x = x)),
      h(
        "span",
        { class: "values" },
        numeric
          .filter((name) => name !== chosen.x)
          .map((name) =>
            h("label", { class: "check" }, h("input", { type: "checkbox", checked: chosen.y.has(name), onchange: (event) => (event.target.checked ? chosen.y.add(name) : chosen.y.delete(name), draw()) }), name),
          ),
      ),
      select("by", [["", "nothing"], ...named(run.names.filter((name) => name !== chosen.x && !chosen.y.has(name)))], chosen.by, (by) => (chosen.by = by)),
    );
    const { data, series, labels, time, left } = columns(run, chosen);
    if (series.length === 0) {
      fill(plot, h("p", { class: "empty muted" }, "Choose a column to draw."));
      return;
    }
    fill(plot);
    const look = { line: {}, area: { fill: true }, bar: { paths: BARS, fill: true }, point: { paths: () => null, points: { show: true, size: 4 } } }[chosen.kind];
    const along = labels
      ? {
          axes: [{ values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? (labels[tick] ?? "").slice(0, 16) : "")), incrs: [1, 2, 5, 10, 20, 50, 100, 1000, 10000] }],
          x: { label: chosen.x, value: (_, at) => (at === null ? "–" : labels[at]) },
          scales: { x: { time: false, range: (_, from, to) => [from - 0.6, to + 0.6] } },
        }
      : { x: { label: chosen.x } };
    chart = drawChart(plot, { data, series: series.map((label) => ({ label, ...look })), isTime: time, options: along });
    if (left > 0) plot.append(h("p", { class: "muted small left" }, `${whole(left)} more lines are not drawn.`));
  }

  return {
    element,
    show,
    /** Lets go of a chart that is not seen. */
    hide() {
      chart?.destroy();
      chart = null;
      rowsDrawn = -1;
    },
  };
}

/** What is likely to be wanted: numbers along time, or along the first column. */
function suggestion({ names, types, lines }) {
  const at = (test) => types.findIndex(test);
  const time = at(isTime);
  const word = at((type) => !isNumber(type) && !isTime(type));
  const x = time >= 0 ? time : word >= 0 ? word : 0;
  const by = time >= 0 && word >= 0 ? names[word] : "";
  const numeric = names.filter((_, place) => place !== x && isNumber(types[place]));
  // What goes on along its column is a line; what goes to and fro are points.
  const along = lines.slice(0, 500).map((line) => Number(cells(line)[x]));
  const kind = time >= 0 ? "line" : !isNumber(types[x]) ? "bar" : along.every((number, at) => at === 0 || number >= along[at - 1]) ? "line" : "point";
  // A single column of numbers is drawn along itself.
  return { x: names[x], by, kind, y: new Set(numeric.length > 0 ? numeric.slice(0, by ? 1 : 5) : [names[x]]) };
}

/** The rows as uPlot's columns. */
function columns({ names, types, lines }, { x, y, by }) {
  const place = (name) => names.indexOf(name);
  const [atX, atBy] = [place(x), by ? place(by) : -1];
  const values = names.filter((name) => y.has(name)).map(place);
  const time = isTime(types[atX]);
  const labels = time || isNumber(types[atX]) ? null : [];
  const known = new Map();
  const position = (text) => {
    if (time) return timeOf(text ?? "");
    if (!labels) return Number(text);
    if (!known.has(text)) known.set(text, labels.push(text ?? "NULL") - 1);
    return known.get(text);
  };
  const lists = new Map();
  for (const line of lines) {
    const row = cells(line);
    const along = position(row[atX]);
    if (Number.isNaN(along)) continue;
    for (const value of values) {
      const name = atBy < 0 ? names[value] : values.length > 1 ? `${row[atBy]} ${names[value]}` : String(row[atBy]);
      if (!lists.has(name)) lists.set(name, new Map());
      if (row[value] !== null) lists.get(name).set(along, Number(row[value]));
    }
  }
  // The largest are drawn, in the order in which they came.
  const weight = (list) => [...list.values()].reduce((sum, number) => sum + Math.abs(number), 0);
  const largest = new Set([...lists.keys()].sort((a, b) => weight(lists.get(b)) - weight(lists.get(a))).slice(0, SERIES_MAX));
  const series = [...lists.keys()].filter((name) => largest.has(name));
  const along = [...new Set(series.flatMap((name) => [...lists.get(name).keys()]))].sort((a, b) => a - b);
  return { data: [along, ...series.map((name) => along.map((at) => lists.get(name).get(at) ?? null))], series, labels, time, left: lists.size - series.length };
}
