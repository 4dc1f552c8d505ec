// /dashboard: the charts of system.dashboards, over any time that the logs have.

import "./dashboard.css";
import { drawChart } from "../common/chart.js";
import { fill, h } from "../common/dom.js";
import { frame } from "../common/frame.js";
import { bytes, duration, short } from "../common/quantity.js";
import { lines, rows, send } from "../common/server.js";
import { cells, isNumber } from "../common/tsv.js";

const PRESETS = [
  [15, "15 min"],
  [60, "1 h"],
  [6 * 60, "6 h"],
  [24 * 60, "1 day"],
  [7 * 24 * 60, "7 days"],
  [30 * 24 * 60, "30 days"],
];
const REFRESH_MS = 10_000;
/** Moments of a chart, about. */
const POINTS = 240;
const SERIES_MAX = 10;
/** Charts that ask at once: a dashboard is no storm. */
const AT_ONCE = 4;

let range = readRange();
let dashboard = new URLSearchParams(location.hash.slice(1)).get("dashboard") ?? "";
let all = [];
let shown = [];
let turn = 0;

const tabs = h("div", { class: "segments", role: "group", "aria-label": "Dashboard" });
const presets = h("div", { class: "segments", role: "group", "aria-label": "Time" }, PRESETS.map(([minutes, name]) => h("button", { "data-minutes": minutes, onclick: () => setRange({ minutes }) }, name)));
const from = h("input", { type: "datetime-local", step: 1, title: "From (UTC)", "aria-label": "From (UTC)", onchange: fromFields });
const to = h("input", { type: "datetime-local", step: 1, title: "To (UTC)", "aria-label": "To (UTC)", onchange: fromFields });
const notice = h("p", { class: "notice", hidden: true, role: "alert" });
const grid = h("div", { class: "charts" });
frame(
  h("main", { class: "dashboard" }, h("div", { class: "head" }, tabs, h("span", { class: "grow" }), presets, from, h("span", { class: "muted" }, "to"), to), notice, grid),
  { onUser: start },
);
start();
setInterval(() => !document.hidden && range.minutes && refresh(), REFRESH_MS);

async function start() {
  try {
    all = await rows("SELECT dashboard, title, query FROM system.dashboards");
  } catch (error) {
    return fail(error);
  }
  const names = [...new Set(all.map((chart) => chart.dashboard))];
  if (!names.includes(dashboard)) dashboard = names[0];
  fill(tabs, names.map((name) => h("button", { "data-name": name, onclick: () => ((dashboard = name), show()) }, name)));
  show();
}

/** Lays out the charts of the dashboard. */
function show() {
  for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.name === dashboard));
  shown.forEach((card) => card.end());
  shown = all.filter((chart) => chart.dashboard === dashboard).map(makeCard);
  fill(grid, shown.map((card) => card.element));
  refresh();
}

/** Asks for all charts anew. */
async function refresh() {
  const mine = ++turn;
  const now = Date.now() / 1000;
  const [first, last] = range.minutes ? [now - range.minutes * 60, now] : [range.from, range.to];
  const field = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);
  from.value = field(first);
  to.value = field(last);
  for (const button of presets.children) button.setAttribute("aria-pressed", String(Number(button.dataset.minutes) === range.minutes));
  history.replaceState(null, "", `#${new URLSearchParams({ dashboard, ...(range.minutes ? { minutes: range.minutes } : { from: Math.floor(first), to: Math.ceil(last) }) })}`);
  const rounding = Math.max(1, Math.ceil((last - first) / POINTS));
  const moment = (seconds) => field(seconds).replace("T", " ");
  const parameters = { from: range.minutes ? "" : moment(first), to: range.minutes ? "" : moment(last), seconds: String(Math.round(last - first)), rounding: String(rounding) };
  const waiting = [...shown];
  const work = async () => {
    for (let card; mine === turn && (card = waiting.shift()); ) await card.load(parameters, [first, last], rounding);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** A chart in its frame. */
function makeCard({ title, query }) {
  const plot = h("div", { class: "plot" });
  const element = h("section", { class: "card chart", "aria-label": title }, h("h2", null, title), plot);
  let chart = null;
  let key = "";
  let shownBounds = [0, 1];

  async function load(parameters, bounds, rounding) {
    shownBounds = bounds;
    try {
      const read = [];
      for await (const more of lines(await send(query, { parameters }))) read.push(...more);
      const { data, series } = columns(read, bounds, rounding);
      if (data[0].length === 0) return say("The logs have nothing of this time.");
      const nextKey = JSON.stringify([series, bounds[1] - bounds[0]]);
      if (chart && key === nextKey) return chart.setData(data);
      key = nextKey;
      chart?.destroy();
      plot.classList.remove("empty");
      chart = drawChart(plot, {
        data,
        series: series.map((label, at) => ({ label: label.replaceAll("_", " "), fill: at === 0 || series.length === 1 })),
        value: unit(title),
        height: 190,
        options: { cursor: { sync: { key: "dashboard" } }, axes: [{}, unit(title) === bytes ? { incrs: POWERS } : {}], scales: { x: { time: true, range: () => shownBounds }, y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most ?? 0) > 0 ? most * 1.08 : 1] } } },
        onSelect: (first, last) => last - first >= 1 && setRange({ from: Math.floor(first), to: Math.ceil(last) }),
      });
    } catch (error) {
      say(error.code === 60 ? "There is no such log: the configuration does not ask for it." : (error.sentence ?? error.message));
    }
  }

  function say(text) {
    chart?.destroy();
    chart = null;
    plot.classList.add("empty");
    fill(plot, h("p", { class: "muted small" }, text));
  }

  return { element, load, end: () => chart?.destroy() };
}

/** The rows as columns: moments, and a list for each line. Where nothing was logged, lines are broken. */
function columns(read, [first, last], rounding) {
  const [names, types] = [cells(read[0] ?? ""), cells(read[1] ?? "")];
  const isNamed = names.length > 2 && !isNumber(types[1]);
  const lists = new Map(isNamed ? [] : names.slice(1).map((name) => [name, new Map()]));
  const moments = new Set();
  for (const line of read.slice(2)) {
    const [moment, ...values] = cells(line);
    const at = Number(moment);
    moments.add(at);
    if (isNamed) {
      if (!lists.has(values[0])) lists.set(values[0], new Map());
      lists.get(values[0]).set(at, Number(values[1]));
    } else values.forEach((value, place) => value !== null && lists.get(names[place + 1]).set(at, Number(value)));
  }
  const series = [...lists.keys()].slice(0, SERIES_MAX);
  if (moments.size === 0) return { data: [[]], series };
  const start = Math.floor(first / rounding) * rounding;
  const along = Array.from({ length: Math.floor((last - start) / rounding) + 1 }, (_, at) => start + at * rounding);
  // A log that is sampled more rarely than the chart is has its values where they are.
  const isSparse = moments.size < along.length / 2;
  const times = isSparse ? [...moments].sort((a, b) => a - b) : along;
  return { data: [times, ...series.map((name) => times.map((at) => lists.get(name).get(at) ?? null))], series };
}

/** Steps of an axis of bytes. */
const POWERS = Array.from({ length: 60 }, (_, power) => 2 ** power);

function unit(title) {
  if (/\(bytes/.test(title)) return bytes;
  if (/\(seconds\)/.test(title)) return duration;
  if (/\(share\)/.test(title)) return (share) => `${Math.round(share * 100)} %`;
  return short;
}

function readRange() {
  const parts = new URLSearchParams(location.hash.slice(1));
  if (parts.has("from")) return { from: Number(parts.get("from")), to: Number(parts.get("to")) };
  return { minutes: Number(parts.get("minutes")) || 60 };
}

function setRange(next) {
  range = next;
  refresh();
}

function fromFields() {
  const [first, last] = [from, to].map(({ value }) => Date.parse(`${value}Z`) / 1000);
  if (first < last) setRange({ from: first, to: last });
}

function fail(error) {
  notice.hidden = false;
  notice.textContent = error.sentence ?? error.message;
}
