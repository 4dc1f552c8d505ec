// What the statements of a run have come to: one after the other, as tables, charts or text, with what they took.

import { fill, h } from "../common/dom.js";
import { bytes, count, duration, short, whole } from "../common/quantity.js";
import { makeChart } from "./chart.js";
import { saveMenu } from "./save.js";
import { makeTable } from "./table.js";

/** The lower half of the page. */
export function makeResults({ view = "table", changed }) {
  const tabs = h("div", { class: "tabs", role: "tablist" });
  const bar = h("div", { class: "progress", hidden: true }, h("div"));
  const stats = h("div", { class: "stats muted small", role: "status" });
  const views = h("div", { class: "segments", role: "group", "aria-label": "View" });
  const save = saveMenu();
  const table = makeTable({ open: showCell });
  const chart = makeChart();
  const text = h("pre", { class: "text", tabIndex: 0 });
  const message = h("div", { class: "message" });
  const content = h("div", { class: "content" }, table.element, chart.element, text, message);
  const element = h("section", { class: "results", "aria-label": "Results" }, h("div", { class: "toolbar" }, tabs, stats, h("span", { class: "grow" }), views, save.element), bar, content);
  let runs = [];
  let current = null;

  for (const [key, name] of [
    ["table", "Table"],
    ["chart", "Chart"],
  ]) {
    views.append(h("button", { "data-view": key, onclick: () => setView(key) }, name));
  }

  function setView(next) {
    view = next;
    changed(view);
    show(current);
  }

  /** Begins anew. */
  function start(all) {
    runs = all;
    current = runs[0];
    drawTabs();
    show(current);
  }

  /** There is more of a run to show. */
  function update(run) {
    if (run === current || (run.state === "running" && current?.state !== "failed")) {
      current = run.state === "failed" || run.lines.length || run.text || run === current ? run : current;
      show(current);
    }
    drawTabs();
  }

  function drawTabs() {
    tabs.hidden = runs.length < 2;
    const tab = (run, at) => h("button", { role: "tab", class: `tab ${run.state}`, title: run.statement.text.slice(0, 500), "aria-selected": String(run === current), onclick: () => show((current = run)) }, String(at + 1));
    fill(tabs, runs.length < 2 ? [] : runs.map(tab));
  }

  function show(run) {
    if (!run) return;
    for (const tab of tabs.children) tab.setAttribute("aria-selected", String(runs[[...tabs.children].indexOf(tab)] === run));
    for (const button of views.children) button.setAttribute("aria-pressed", String(button.dataset.view === view));
    const hasRows = run.names.length > 0;
    const shown = run.error ? "message" : run.text !== null ? "text" : hasRows ? view : "message";
    table.element.hidden = shown !== "table";
    chart.element.hidden = shown !== "chart";
    text.hidden = shown !== "text";
    message.hidden = shown !== "message";
    views.hidden = !hasRows;
    save.element.hidden = !(hasRows || run.text !== null) || run.state === "running";
    save.of(run);
    if (shown === "table") table.show(run);
    if (shown === "chart") chart.show(run);
    else chart.hide();
    if (shown === "text") text.textContent = run.text;
    if (shown === "message") showMessage(run);
    showProgress(run);
  }

  function showMessage(run) {
    if (run.error) {
      fill(message, h("div", { class: "notice", role: "alert" }, h("strong", null, run.error.kind || "Error", run.error.code ? ` ${run.error.code}` : ""), h("pre", null, run.error.sentence)));
    } else {
      const words = { running: "Running …", cancelled: "Cancelled.", done: "Done. The statement has no result." };
      fill(message, h("p", { class: "empty muted" }, words[run.state] ?? ""));
    }
  }

  function showProgress(run) {
    const { progress } = run;
    const isRunning = run.state === "running";
    const total = progress?.total_rows_approx ?? 0;
    bar.hidden = !isRunning;
    bar.classList.toggle("unknown", total === 0);
    bar.firstElementChild.style.width = total > 0 ? `${Math.min(100, (100 * progress.read_rows) / total)}%` : "";
    const words = [];
    if (!isRunning && run.names.length > 0) words.push(`${count(run.lines.length, "row")}${run.isCut ? " (the first; a download has all)" : ""}`);
    words.push(run.state === "cancelled" ? `cancelled after ${duration(run.seconds)}` : duration(run.seconds));
    if (progress) {
      words.push(`read ${short(progress.read_rows)}${isRunning && total > 0 ? ` of ${short(total)}` : ""} rows, ${bytes(progress.read_bytes)}`);
      if (run.seconds > 0 && isRunning) words.push(`${short(progress.read_rows / run.seconds)} rows/s`);
      words.push(`${bytes(progress.memory_usage)} of memory`);
      if (isRunning) words.push(count(progress.threads, "thread"));
    }
    stats.textContent = words.join(" · ");
  }

  function showCell(name, type, value) {
    let shown = value ?? "NULL";
    try {
      if (/^[[{]/.test(shown)) shown = JSON.stringify(JSON.parse(shown), null, 2);
    } catch {
      // Not JSON: shown as it is.
    }
    const close = () => dialog.close();
    const dialog = h("dialog", { class: "card cell-view", onclose: () => dialog.remove() }, h("h2", null, name, " ", h("span", { class: "muted mono" }, type)), h("pre", { tabIndex: 0 }, shown), h("div", { class: "actions" }, h("span", { class: "muted small grow" }, `${whole((value ?? "").length)} characters`), h("button", { class: "quiet", onclick: () => navigator.clipboard?.writeText(value ?? "NULL") }, "Copy"), h("button", { onclick: close }, "Close")));
    document.body.append(dialog);
    dialog.showModal();
  }

  return { element, start, update, focus: () => table.element.focus() };
}
