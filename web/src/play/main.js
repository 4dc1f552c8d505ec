// /play: an editor for queries, their results, and the schema beside them.

import "./play.css";
import { MOD, debounce, fill, h } from "../common/dom.js";
import { frame } from "../common/frame.js";
import { duration, whole } from "../common/quantity.js";
import { newId } from "../common/server.js";
import { makeEditor } from "./editor.js";
import { placeOf } from "./errors.js";
import { forget, past, remember } from "./history.js";
import { readLink, writeLink } from "./link.js";
import { makeParameters } from "./parameters.js";
import { makeResults } from "./results.js";
import { Run } from "./run.js";
import { makeSchema } from "./schema.js";

const FIRST = "SELECT\n    number AS x,\n    sin(x / 50) AS sine,\n    cos(x / 50) AS cosine\nFROM numbers(1000)";

const linked = readLink();
/** A session of this page, so that SET, USE and temporary tables hold from one statement to the next. */
const session = `play-${newId()}`;
let running = null;

const results = makeResults({ view: linked?.view ?? "table", changed: (view) => ((shownView = view), keepLink()) });
let shownView = linked?.view ?? "table";
const schema = makeSchema({ insert: (name) => editor.insert(name), ask: (sql) => (editor.setText(sql), run()) });
const parameters = makeParameters(linked?.parameters, () => run());
const editor = makeEditor({
  text: linked?.sql || past()[0]?.sql || FIRST,
  run: () => run(),
  runAll: () => run(true),
  cancel,
  complete: (context) => schema.complete(context),
  changed: debounce(150, (text) => parameters.show(text)),
});

const runButton = h("button", { class: "primary run", title: "Run the statement at the cursor, or what is selected", onclick: () => run() }, "Run", h("kbd", null, `${MOD}⏎`));
const allButton = h("button", { class: "quiet", title: `Run all statements (${MOD}Shift+⏎)`, onclick: () => run(true) }, "Run all");
const cancelButton = h("button", { class: "cancel", hidden: true, onclick: cancel }, "Cancel", h("kbd", null, "Esc"));
const linkButton = h("button", { class: "quiet", title: "Copy a link to this query", onclick: copyLink }, "Copy link");
const helpButton = h("button", { class: "quiet icon", title: "Keys", "aria-label": "Keys", onclick: showKeys }, "?");
const historyList = h("div", { class: "history", hidden: true });
const side = h("aside", { class: "side", "aria-label": "Schema and history" });
const sideTabs = h("div", { class: "segments" });
const upper = h("section", { class: "upper", "aria-label": "Query" }, h("div", { class: "toolbar" }, runButton, allButton, cancelButton, h("span", { class: "grow" }), linkButton, helpButton), editor.element, parameters.element);
const split = h("div", { class: "split", role: "separator", "aria-orientation": "horizontal", onpointerdown: resize });

for (const [name, element] of [
  ["Schema", schema.element],
  ["History", historyList],
]) {
  sideTabs.append(h("button", { "aria-pressed": String(name === "Schema"), onclick: () => showSide(name) }, name));
  element.dataset.side = name;
}
fill(side, h("div", { class: "side-head" }, sideTabs), schema.element, historyList);
frame(h("main", { class: "play" }, side, h("div", { class: "work" }, upper, split, results.element)), { onUser: loadSchema });
parameters.show(editor.text());
loadSchema();
editor.focus();

addEventListener("hashchange", () => {
  const link = readLink();
  if (!link) return;
  Object.assign(parameters.values, link.parameters);
  editor.setText(link.sql);
  parameters.show(link.sql);
});

addEventListener("keydown", (event) => {
  const isMod = event.ctrlKey || event.metaKey;
  if (event.key === "Escape" && running) cancel();
  else if (isMod && event.key === "k") schemaFocus();
  else if (isMod && event.key === "e") editor.focus();
  else if (isMod && event.key === "j") results.focus();
  else return;
  event.preventDefault();
});

async function loadSchema() {
  const names = await schema.load();
  if (names) editor.setNames(names.functions, names.types);
}

function schemaFocus() {
  showSide("Schema");
  schema.focus();
}

/** Runs the statement at the cursor, or one after the other; the first that fails is the last. */
async function run(isAll = false) {
  if (running) return;
  const wanted = isAll ? editor.all() : editor.toRun();
  if (wanted.length === 0) return;
  editor.markError(null);
  parameters.show(editor.text());
  keepLink();
  const changed = (one) => results.update(one);
  const runs = wanted.map((statement) => new Run(statement, { parameters: parameters.of(statement.text), session, changed }));
  setRunning(runs[0]);
  results.start(runs);
  for (const one of runs) {
    setRunning(one);
    await one.run();
    remember({ sql: one.statement.text, at: Date.now(), seconds: one.seconds, rows: one.lines.length, state: one.state });
    if (one.state === "failed") markError(one);
    if (one.state !== "done") break;
  }
  const changesSchema = runs.some(({ statement }) => /^\s*(create|drop|alter|rename|attach|detach|truncate|exchange|insert|use)\b/i.test(statement.text));
  setRunning(null);
  if (changesSchema) loadSchema();
  drawHistory();
}

function cancel() {
  if (!running) return false;
  running.cancel();
  return true;
}

function setRunning(next) {
  running = next;
  runButton.disabled = allButton.disabled = next !== null;
  cancelButton.hidden = next === null;
}

function markError({ error, statement }) {
  const place = placeOf(error, statement);
  if (place) editor.markError({ ...place, message: error.sentence });
}

function keepLink() {
  writeLink({ sql: editor.text(), parameters: parameters.of(editor.text()), view: shownView });
}

async function copyLink() {
  keepLink();
  // Pages over plain HTTP may not write to the clipboard; the address is in the bar.
  await navigator.clipboard?.writeText(location.href).catch(() => null);
  linkButton.textContent = navigator.clipboard ? "Copied" : "It is in the address bar";
  setTimeout(() => (linkButton.textContent = "Copy link"), 1500);
}

function showSide(name) {
  for (const button of sideTabs.children) button.setAttribute("aria-pressed", String(button.textContent === name));
  for (const element of [schema.element, historyList]) element.hidden = element.dataset.side !== name;
  if (name === "History") drawHistory();
}

function drawHistory() {
  if (historyList.hidden) return;
  const entry = ({ sql, at, seconds, rows, state }) =>
    h(
      "button",
      { class: `entry ${state}`, title: sql.slice(0, 1000), onclick: () => editor.setText(sql) },
      h("span", { class: "mono" }, sql.replace(/\s+/g, " ").slice(0, 160)),
      h("span", { class: "muted small" }, `${momentOf(at)} · ${duration(seconds)}${state === "done" ? ` · ${whole(rows)} rows` : ` · ${state}`}`),
    );
  const all = past();
  const clear = h("button", { class: "quiet small", onclick: () => (forget(), drawHistory()) }, "Forget all");
  fill(historyList, all.length ? [all.map(entry), clear] : h("p", { class: "muted small" }, "The queries that you run appear here. They are kept in this browser only."));
}

/** The time of day today, else the day and the time. */
function momentOf(at) {
  const moment = new Date(at);
  const time = moment.toLocaleTimeString("en-GB");
  return moment.toDateString() === new Date().toDateString() ? time : `${moment.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time.slice(0, 5)}`;
}

function showKeys() {
  const keys = [
    [`${MOD}⏎`, "Run the statement at the cursor, or the selection"],
    [`${MOD}Shift+⏎`, "Run all statements"],
    ["Esc", "Cancel"],
    [`${MOD}Space`, "Complete"],
    [`${MOD}/`, "Comment"],
    [`${MOD}F`, "Find"],
    [`${MOD}K`, "Go to the schema"],
    [`${MOD}E`, "Go to the editor"],
    [`${MOD}J`, "Go to the result: arrows move, ⏎ opens a cell"],
  ];
  const dialog = h("dialog", { class: "card", onclose: () => dialog.remove() }, h("h2", null, "Keys"), h("dl", { class: "keys" }, keys.map(([key, text]) => [h("dt", null, h("kbd", null, key)), h("dd", null, text)])), h("form", { method: "dialog", class: "actions" }, h("button", null, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}

function resize(event) {
  event.preventDefault();
  split.setPointerCapture(event.pointerId);
  const top = upper.getBoundingClientRect().top;
  const move = ({ clientY }) => (upper.style.flexBasis = `${Math.max(90, clientY - top)}px`);
  split.addEventListener("pointermove", move);
  split.addEventListener("pointerup", () => split.removeEventListener("pointermove", move), { once: true });
}
