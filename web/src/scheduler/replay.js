// The scheduler as it was: the queries of a time by the query log, with what each waited for. A day or a minute, three weeks ago or now.

import { drawChart } from "../common/chart.js";
import { fill, h } from "../common/dom.js";
import { count, duration } from "../common/quantity.js";
import { rows } from "../common/server.js";
import { color, onTheme, palette } from "../common/theme.js";
import { likelyCauses } from "./causes.js";
import { makeDetails, oneLine } from "./details.js";
import { clock, makeLanes } from "./lanes.js";

const PRESETS = [
  [5, "5 min"],
  [60, "1 h"],
  [24 * 60, "1 day"],
  [7 * 24 * 60, "7 days"],
];
const ORDERS = {
  waited: ["waited longest", "waited"],
  took: ["took longest", "took"],
  used: ["used most CPU time", "cpu"],
  began: ["began last", "began"],
};
const LANES_MAX = 60;
/** Queries that are read to say who caused what. */
const OTHERS_MAX = 5000;
const STEPS_MAX = 240;

/** What the waits are drawn with, in the order in which a query meets them. */
const PARTS = [
  ["admission_wait", "admission", "--series-3"],
  ["worker_wait", "a worker", "--wait"],
  ["cpu_wait", "a CPU", "--series-7"],
  ["memory_wait", "memory", "--series-4"],
  ["disk_wait", "the disk", "--series-6"],
  ["client_wait", "the client", "--series-8"],
  ["cpu", "computing", "--series-0"],
];

const RANGE = "event_date BETWEEN toDate(fromUnixTimestamp({from:Int64})) AND toDate(fromUnixTimestamp({to:Int64} + 86400))";
const COLUMNS = `query_id, user, query_kind, substring(query, 1, 4000) AS query, toUnixTimestamp64Micro(query_start_time_microseconds) AS began,
    query_duration_ms * 1000 AS took, exception_code, memory_usage, read_rows,
    ProfileEvents['SchedulerMorsels'] AS morsels, ProfileEvents['OSCPUVirtualTimeMicroseconds'] AS cpu,
    ProfileEvents['SchedulerQueueWaitMicroseconds'] AS worker_wait, ProfileEvents['AdmissionQueueWaitMicroseconds'] AS admission_wait,
    ProfileEvents['OSCPUWaitMicroseconds'] AS cpu_wait, ProfileEvents['MemoryOvercommitWaitTimeMicroseconds'] AS memory_wait,
    ProfileEvents['DiskReadElapsedMicroseconds'] + ProfileEvents['DiskWriteElapsedMicroseconds'] AS disk_wait,
    ProfileEvents['NetworkSendElapsedMicroseconds'] AS client_wait,
    worker_wait + admission_wait + cpu_wait + memory_wait AS waited`;
const WITHIN = `type != 'QueryStart' AND ${RANGE} AND event_time >= fromUnixTimestamp({from:Int64}) AND query_start_time <= fromUnixTimestamp({to:Int64})`;
const QUERIES = (order) => `SELECT ${COLUMNS} FROM system.query_log WHERE ${WITHIN} ORDER BY ${order} DESC LIMIT ${LANES_MAX}`;
const OTHERS = `SELECT query_id, user, substring(query, 1, 200) AS query, toUnixTimestamp64Micro(query_start_time_microseconds) AS began,
    query_duration_ms * 1000 AS took, ProfileEvents['OSCPUVirtualTimeMicroseconds'] AS cpu
  FROM system.query_log WHERE ${WITHIN} ORDER BY cpu DESC LIMIT ${OTHERS_MAX}`;
const OVERVIEW = `SELECT toUnixTimestamp(toStartOfInterval(event_time, INTERVAL {step:UInt32} SECOND)) AS t, avg(CurrentMetric_SchedulerWorkersActive) AS workers,
    avg(CurrentMetric_Query) AS running, avg(ProfileEvent_SchedulerQueueWaitMicroseconds + ProfileEvent_AdmissionQueueWaitMicroseconds) / 1e6 AS waiting
  FROM system.metric_log WHERE ${RANGE} AND event_time BETWEEN fromUnixTimestamp({from:Int64}) AND fromUnixTimestamp({to:Int64})
  GROUP BY t ORDER BY t`;
const COUNT = `SELECT count() AS queries, countIf(exception_code != 0) AS failed, quantile(0.5)(query_duration_ms) AS p50, quantile(0.99)(query_duration_ms) AS p99,
    sum(ProfileEvents['SchedulerQueueWaitMicroseconds'] + ProfileEvents['AdmissionQueueWaitMicroseconds']) AS waited FROM system.query_log WHERE ${WITHIN}`;

/** What the workers did for these queries, second by second, where the scheduler's log is kept. */
const WORKED = `SELECT toUnixTimestamp(event_time) * 1000000 AS second, worker, query_id, busy_us, waited_us FROM system.scheduler_log
  WHERE ${RANGE} AND event_time BETWEEN fromUnixTimestamp({from:Int64}) AND fromUnixTimestamp({to:Int64}) AND query_id IN {ids:Array(String)}`;
/** Who had the workers in the seconds in which a query waited for one. */
const CAUSES = `SELECT query_id, sum(busy_us) AS us FROM system.scheduler_log
  WHERE ${RANGE} AND query_id != {id:String} AND toUnixTimestamp(event_time) IN (
    SELECT arrayJoin(range(toUInt32(toUnixTimestamp(event_time) - intDiv(waited_us, 1000000)), toUInt32(toUnixTimestamp(event_time) + 1)))
    FROM system.scheduler_log WHERE ${RANGE} AND query_id = {id:String} AND waited_us > 0)
  GROUP BY query_id ORDER BY us DESC LIMIT 20`;
/** Longer ranges are drawn by what queries waited for in all: seconds would be thinner than lines. */
const SECONDS_MAX = 900;

/** The view. */
export function makeReplay() {
  const details = makeDetails({ choose });
  const lanes = makeLanes({ tell, choose: (lane) => choose(lane.id), zoom: (from, to) => setRange(from / 1e6, to / 1e6) });
  const from = h("input", { type: "datetime-local", step: 1, "aria-label": "From (UTC)", onchange: fromFields });
  const to = h("input", { type: "datetime-local", step: 1, "aria-label": "To (UTC)", onchange: fromFields });
  const order = h("select", { "aria-label": "Queries that", onchange: load }, Object.entries(ORDERS).map(([key, [name]]) => h("option", { value: key }, name)));
  const presets = h("div", { class: "segments" }, PRESETS.map(([minutes, name]) => h("button", { onclick: () => setRange(Date.now() / 1000 - minutes * 60, Date.now() / 1000) }, name)));
  const overview = h("div", { class: "overview" });
  const summary = h("p", { class: "summary muted" });
  const legend = h("div", { class: "legend" });
  const notice = h("p", { class: "notice", hidden: true, role: "alert" });
  const element = h(
    "div",
    { class: "view" },
    h("div", { class: "toolbar range" }, presets, from, h("span", { class: "muted" }, "to"), to, h("span", { class: "muted" }, "UTC"), h("span", { class: "grow" }), h("label", null, h("span", { class: "muted" }, "Queries that "), order)),
    notice,
    overview,
    summary,
    legend,
    h("div", { class: "stage" }, h("div", { class: "picture" }, lanes.element), details.element),
  );
  let range = readRange() ?? { from: Date.now() / 1000 - 3600, to: Date.now() / 1000 };
  let queries = [];
  let others = [];
  /** By query, where the log has it and its seconds can be seen. */
  let worked = null;
  let workers = 1;
  let chosen = null;
  let chart = null;
  let turn = 0;
  onTheme(() => element.isConnected && draw());

  function readRange() {
    const [, first, last] = /^#replay=(\d+)-(\d+)/.exec(location.hash) ?? [];
    return first ? { from: Number(first), to: Number(last) } : null;
  }

  function setRange(first, last) {
    range = { from: Math.floor(first), to: Math.max(Math.ceil(last), Math.floor(first) + 1) };
    load();
  }

  function fromFields() {
    const [first, last] = [from, to].map(({ value }) => Date.parse(`${value}Z`) / 1000);
    if (first < last) setRange(first, last);
  }

  async function load() {
    const mine = ++turn;
    const field = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);
    from.value = field(range.from);
    to.value = field(range.to);
    history.replaceState(null, "", `#replay=${Math.floor(range.from)}-${Math.ceil(range.to)}`);
    const step = String(Math.max(1, Math.ceil((range.to - range.from) / STEPS_MAX)));
    const parameters = { from: String(Math.floor(range.from)), to: String(Math.ceil(range.to)), step };
    const ask = (sql, more) => rows(sql, { parameters: { ...parameters, ...more } });
    try {
      const [found, causes, shape, [all]] = await Promise.all([ask(QUERIES(ORDERS[order.value][1])), ask(OTHERS), ask(OVERVIEW).catch(() => []), ask(COUNT)]);
      if (mine !== turn) return;
      notice.hidden = true;
      const withEnd = (query) => ({ ...query, end: query.began + query.took, used_us: query.cpu });
      queries = found.map(withEnd).map((query) => ({ ...query, error: query.exception_code ? `code ${query.exception_code}` : undefined }));
      others = causes.map(withEnd);
      await loadWorked(ask);
      if (mine !== turn) return;
      drawOverview(shape);
      const shown = queries.length < all.queries ? `; below are the ${queries.length} that ${ORDERS[order.value][0]}` : "";
      summary.textContent = all.queries
        ? `${count(all.queries, "query").replace("querys", "queries")}, ${all.failed} failed · p50 ${duration(all.p50 / 1000)}, p99 ${duration(all.p99 / 1000)} · ${duration(all.waited / 1e6)} of waiting for admission and workers${shown}.`
        : "The query log has no queries of this time.";
      draw();
      if (!queries.some(({ query_id }) => query_id === chosen)) choose(queries[0]?.query_id ?? null);
    } catch (error) {
      if (mine !== turn) return;
      notice.hidden = false;
      notice.textContent = error.code === 60 ? "There is no query log: the element query_log of the configuration makes one." : (error.sentence ?? error.message);
    }
  }

  async function loadWorked(ask) {
    worked = null;
    if (range.to - range.from > SECONDS_MAX || queries.length === 0) return;
    const ids = `[${queries.map(({ query_id }) => `'${query_id.replace(/[\\']/g, "\\$&")}'`).join(",")}]`;
    const found = await ask(WORKED, { ids }).catch(() => []);
    if (found.length === 0) return;
    worked = Map.groupBy(found, ({ query_id }) => query_id);
    workers = Math.max(...found.map(({ worker }) => worker)) + 1;
  }

  function drawOverview(shape) {
    chart?.destroy();
    chart = null;
    overview.hidden = shape.length < 2;
    if (overview.hidden) return;
    const column = (name) => shape.map((row) => row[name]);
    chart = drawChart(overview, {
      height: 122,
      data: [column("t"), column("running"), column("workers"), column("waiting")],
      series: [{ label: "queries running", fill: true }, { label: "workers at work", stroke: color("--series-2") }, { label: "queries waiting", stroke: color("--wait") }],
      onSelect: (first, last) => last - first >= 1 && setRange(first, last),
    });
  }

  function draw() {
    const colors = { line: color("--line"), workers: palette(), ...Object.fromEntries(PARTS.map(([key, , name]) => [key, color(name)])) };
    const byStart = [...queries].sort((a, b) => a.began - b.began);
    lanes.show({ from: range.from * 1e6, to: range.to * 1e6, chosen, lanes: byStart.map((query) => picture(query, colors)) });
    if (worked) {
      const seen = palette();
      fill(
        legend,
        Array.from({ length: Math.min(workers, 16) }, (_, at) => swatch(seen[at % seen.length], `Worker ${at}`)),
        swatch(color("--wait"), "waited for a worker"),
      );
      return;
    }
    const known = PARTS.filter(([key]) => queries.some((query) => query[key] > 0));
    fill(
      legend,
      known.map(([key, name]) => swatch(colors[key], key === "cpu" ? name : `waits for ${name}`)),
    );
  }

  function swatch(background, name) {
    const element = h("span", { class: "swatch" });
    element.style.background = background;
    return h("span", { class: "worker" }, element, name);
  }

  /** A query is as long as it took, and divided by what it waited for: how much of each is logged, not when. */
  function picture(query, colors) {
    const marks = [];
    const all = PARTS.reduce((sum, [key]) => sum + query[key], 0);
    const took = Math.max(query.took, 1);
    // Several threads compute and wait at once: what is beyond the query's time is shown by share.
    const scale = Math.min(1, took / Math.max(all, 1));
    marks.push({ from: query.began, to: query.began + took, color: colors.line, query, top: 0.4, height: 0.2, least: 2 });
    if (worked) marks.push(...seconds(query, colors));
    let at = query.began;
    for (const [key] of worked ? [] : PARTS) {
      const long = query[key] * scale;
      if (long <= 0) continue;
      marks.push({ from: at, to: at + long, color: colors[key], query, part: key });
      at += long;
    }
    const words = [query.user, duration(query.took / 1e6), query.waited > 0 && `${duration(query.waited / 1e6)} waiting`, query.exception_code && "failed"];
    return { id: query.query_id, title: oneLine(query) || query.query_id, detail: words.filter(Boolean).join(" · "), marks };
  }

  /** Each second of a query: as high as it waited in it, and a stripe for each worker, as high as that was at it. */
  function seconds(query, colors) {
    const known = worked.get(query.query_id) ?? [];
    const waited = new Map();
    for (const { second, waited_us } of known) {
      // A wait is noted when it ends, and may have begun seconds before.
      for (let [at, left] = [second, waited_us]; left > 0 && at > query.began - 1e6; at -= 1e6, left -= 1e6) waited.set(at, Math.min(1e6, (waited.get(at) ?? 0) + left));
    }
    const within = (second) => [Math.max(second, query.began), Math.max(Math.min(second + 1e6, query.end), query.began + 1)];
    const waits = [...waited].map(([second, waited_us]) => {
      const [from, to] = within(second);
      const height = Math.min(1, waited_us / (to - from));
      return { from, to, color: colors.worker_wait, alpha: 0.3, query, waited_us, top: 1 - height, height };
    });
    const bars = known.map(({ second, worker, busy_us }) => {
      const [from, to] = within(second);
      const height = Math.max(0.1, Math.min(1, busy_us / (to - from)) / workers);
      return { from, to, color: colors.workers[worker % colors.workers.length], query, worker, busy_us, top: 1 - worker / workers - height, height };
    });
    return [...waits, ...bars];
  }

  function tell(lane, { query, part, worker, busy_us, waited_us }) {
    if (worker !== undefined) return [h("strong", null, `Worker ${worker} was at it for ${duration(busy_us / 1e6)}`), h("div", { class: "muted" }, "of this second")];
    if (waited_us) return [h("strong", null, `Waited ${duration(waited_us / 1e6)} for a worker`), h("div", { class: "muted" }, "in this second; choose the query to see who caused it")];
    const lines = [h("strong", null, `${clock(query.began, 1e5)}, ${duration(query.took / 1e6)}`)];
    for (const [key, name] of PARTS) {
      if (query[key] > 0) lines.push(h("div", { class: key === part ? "" : "muted" }, `${duration(query[key] / 1e6)} ${key === "cpu" ? "of CPU time" : `waiting for ${name}`}`));
    }
    return lines;
  }

  async function choose(id) {
    chosen = id;
    const query = queries.find(({ query_id }) => query_id === id) ?? others.find(({ query_id }) => query_id === id);
    draw();
    if (!query) return details.show(null);
    const name = (other) => oneLine(others.find(({ query_id }) => query_id === other)) || other || "many short queries";
    const hasWaited = query.waited === undefined || query.worker_wait + query.admission_wait > 0;
    const likely = hasWaited ? likelyCauses(query, others) : [];
    details.show(query, { causes: likely, name, note: "By the CPU time that others used while this query was there, as if each had used it evenly." });
    const parameters = { from: String(Math.floor(query.began / 1e6) - 1), to: String(Math.ceil(query.end / 1e6) + 1), id };
    const found = hasWaited ? await rows(CAUSES, { parameters }).catch(() => []) : [];
    if (chosen !== id || found.length === 0) return;
    const all = found.reduce((sum, { us }) => sum + us, 0);
    details.show(query, { causes: found.map((cause) => ({ ...cause, share: cause.us / all })), name, note: "By system.scheduler_log, in the seconds in which this query waited." });
  }

  return {
    element,
    start: load,
    readAddress: () => (range = readRange() ?? range),
    end() {
      chart?.destroy();
      chart = null;
    },
  };
}
