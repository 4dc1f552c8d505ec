// Beside the lanes: what is known of the query that was chosen, what it waited for, and who caused it.

import { fill, h } from "../common/dom.js";
import { bytes, duration, short, whole } from "../common/quantity.js";

const WAITS = [
  ["admission_wait", "admission", "The limit of queries that run at once"],
  ["worker_wait", "a worker", "All workers were at other queries"],
  ["cpu_wait", "a CPU", "The operating system gave its CPUs to other threads"],
  ["memory_wait", "memory", "A limit of memory that several queries share"],
  ["disk_wait", "the disk", "Reading and writing"],
  ["client_wait", "the client", "It did not take its result"],
];

/** The panel. `choose` is called with the id of another query. */
export function makeDetails({ choose }) {
  const element = h("aside", { class: "details", "aria-label": "Query" });

  /** Shows a query: what the server said of it, and the `causes` of its waits. */
  function show(query, { causes = [], name, note = "" } = {}) {
    if (!query) {
      fill(element, h("p", { class: "muted hint" }, "Choose a query to see what it waits for, and who causes it."));
      return;
    }
    const waits = WAITS.map(([key, label, title]) => ({ label, title, us: query[key] ?? 0 })).filter(({ us }) => us > 0);
    const most = Math.max(query.used_us ?? 0, ...waits.map(({ us }) => us), 1);
    const facts = [
      ["User", query.user],
      [query.took ? "Took" : "Runs", query.took ? duration(query.took / 1e6) : query.elapsed !== undefined && `${duration(query.elapsed)} so far`],
      ["CPU time", query.used_us !== undefined && duration(query.used_us / 1e6)],
      ["Memory", query.memory_usage !== undefined && bytes(query.memory_usage)],
      ["Rows read", query.read_rows !== undefined && short(query.read_rows)],
      ["Morsels", query.morsels !== undefined && whole(query.morsels)],
      ["Workers now", query.task && `${query.task.workers} of ${query.task.workers_max} it may have`],
      ["Pass, weight", query.task && `${short(query.task.pass_us)}, ${query.task.weight.toPrecision(3)}`],
      ["Error", query.error],
    ].filter(([, value]) => value);
    fill(
      element,
      h("h2", { class: "mono id" }, query.query_id || "Queries over for long"),
      query.query && h("pre", { class: "sql" }, query.query),
      h("dl", null, facts.map(([key, value]) => [h("dt", null, key), h("dd", null, value)])),
      h("h3", null, "Waited for"),
      waits.length > 0 ? bars([{ label: "(computed)", us: query.used_us ?? 0, isCpu: true }, ...waits], most) : h("p", { class: "muted small" }, "Nothing that counts."),
      h("h3", null, "Who had the workers meanwhile"),
      causes.length > 0 ? list(causes.slice(0, 8), name) : h("p", { class: "muted small" }, "Nobody: it had a worker as soon as it could use one."),
      note && h("p", { class: "muted small note" }, note),
    );
  }

  function bars(all, most) {
    return h(
      "div",
      { class: "bars" },
      all.map(({ label, title, us, isCpu }) => {
        const bar = h("span", { class: `fill${isCpu ? " cpu" : ""}` });
        bar.style.width = `${(100 * us) / most}%`;
        return h("div", { class: "measure", title: title ?? "CPU time that it used" }, h("span", null, label), h("span", { class: "track" }, bar), h("span", { class: "number" }, duration(us / 1e6)));
      }),
    );
  }

  function list(causes, name) {
    return h(
      "div",
      { class: "causes" },
      causes.map(({ query_id, us, share }) =>
        h("button", { class: "cause", onclick: () => choose(query_id) }, h("span", { class: "share" }, `${Math.round(share * 100)} %`), h("span", { class: "label" }, name(query_id)), h("span", { class: "muted small" }, duration(us / 1e6))),
      ),
    );
  }

  show(null);
  return { element, show };
}

/** A query's text in one line. */
export function oneLine(query) {
  return (query?.query ?? "").replace(/\s+/g, " ").trim();
}
