// The schema at hand: databases, their tables, their columns, read when they are opened; and what the editor completes from them.

import { debounce, fill, h } from "../common/dom.js";
import { bytes, short } from "../common/quantity.js";
import { rows } from "../common/server.js";
import { keywords } from "./dialect.js";

/** The tree. `insert` puts a name into the editor, `ask` opens a query. */
export function makeSchema({ insert, ask }) {
  const filter = h("input", { type: "search", placeholder: "Find a table or column", "aria-label": "Find a table or column", oninput: debounce(200, show) });
  const tree = h("div", { class: "tree", role: "tree", "aria-label": "Schema" });
  const element = h("div", { class: "schema" }, filter, tree);
  const open = new Set();
  const names = { tables: [], functions: [], settings: [], types: [], columns: new Map() };
  let tables = [];
  let matches = null;

  async function load() {
    try {
      tables = await rows(
        "SELECT database, name, engine, total_rows, total_bytes FROM system.tables WHERE database NOT IN ('INFORMATION_SCHEMA', 'information_schema') ORDER BY database = 'system', database, name",
      );
      const current = (await rows("SELECT currentDatabase() AS name"))[0]?.name;
      names.tables = tables.map(({ database, name }) => (database === current ? name : `${quoted(database)}.${quoted(name)}`));
      if (open.size === 0 && current) open.add(current);
      await show();
      names.functions = (await rows("SELECT name, is_aggregate FROM system.functions ORDER BY name")).map(({ name }) => name);
      names.types = (await rows("SELECT name FROM system.data_type_families")).map(({ name }) => name);
      names.settings = (await rows("SELECT name FROM system.settings ORDER BY name")).map(({ name }) => name);
      return names;
    } catch (error) {
      fill(tree, h("p", { class: "muted small" }, error.sentence ?? error.message));
      return null;
    }
  }

  async function show() {
    const wanted = filter.value.trim().toLowerCase();
    matches = null;
    if (wanted) {
      const found = await rows(
        "SELECT database, table, name FROM system.columns WHERE positionCaseInsensitive(name, {wanted:String}) > 0 LIMIT 500",
        { parameters: { wanted } },
      ).catch(() => []);
      matches = new Set(found.map(({ database, table }) => `${database}.${table}`));
    }
    const isShown = ({ database, name }) => !wanted || name.toLowerCase().includes(wanted) || matches.has(`${database}.${name}`);
    const databases = Map.groupBy(tables.filter(isShown), ({ database }) => database);
    fill(tree, [...databases].map(([name, all]) => databaseItem(name, all, Boolean(wanted))));
    if (databases.size === 0) fill(tree, h("p", { class: "muted small" }, wanted ? "Nothing has such a name." : "There are no tables that you may see."));
  }

  function databaseItem(name, all, isForced) {
    const isOpen = isForced || open.has(name);
    const list = h("div", { role: "group", class: "children", hidden: !isOpen }, isOpen ? all.map(tableItem) : []);
    return item({ level: 1, label: name, detail: String(all.length), isOpen, list, onopen: () => list.childElementCount || fill(list, all.map(tableItem)), key: name });
  }

  function tableItem(table) {
    const path = `${quoted(table.database)}.${quoted(table.name)}`;
    const key = `${table.database}.${table.name}`;
    const list = h("div", { role: "group", class: "children", hidden: true });
    const size = [table.total_rows !== null && `${short(table.total_rows)} rows`, table.total_bytes !== null && bytes(table.total_bytes)].filter(Boolean);
    const load = async () => {
      if (list.childElementCount) return;
      const found = await columnsOf(table.database, table.name);
      fill(list, found.map(columnItem));
    };
    const row = item({
      level: 2,
      label: table.name,
      detail: table.total_rows === null ? "" : short(table.total_rows),
      title: `${key}\n${table.engine}${size.length ? `\n${size.join(", ")}` : ""}\nDouble click shows its rows`,
      isOpen: false,
      list,
      onopen: load,
      key,
      ondblclick: () => ask(`SELECT *\nFROM ${path}\nLIMIT 100`),
    });
    if (open.has(key)) row.querySelector(".item").click();
    return row;
  }

  function columnItem({ name, type }) {
    const click = () => insert(quoted(name));
    return h("div", { role: "treeitem", class: "item column", tabIndex: 0, title: `${name} ${type}`, onclick: click, onkeydown: onEnter(click) }, h("span", { class: "label" }, name), h("span", { class: "detail mono" }, type));
  }

  function item({ level, label, detail, title, isOpen, list, onopen, key, ondblclick }) {
    const twist = h("span", { class: "twist", "aria-hidden": "true" }, "›");
    const head = h("div", { class: `item level${level}`, role: "treeitem", tabIndex: 0, title: title ?? label, "aria-expanded": String(isOpen) }, twist, h("span", { class: "label" }, label), h("span", { class: "detail" }, detail));
    const toggle = async () => {
      const opens = list.hidden;
      list.hidden = !opens;
      head.setAttribute("aria-expanded", String(opens));
      if (opens) open.add(key);
      else open.delete(key);
      if (opens) await onopen();
    };
    head.addEventListener("click", toggle);
    head.addEventListener("keydown", onEnter(toggle));
    if (ondblclick) head.addEventListener("dblclick", ondblclick);
    return h("div", null, head, list);
  }

  async function columnsOf(database, table) {
    const key = `${database}.${table}`;
    if (!names.columns.has(key)) {
      const sql = "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String} ORDER BY position";
      names.columns.set(key, await rows(sql, { parameters: { database, table } }).catch(() => []));
    }
    return names.columns.get(key);
  }

  /** What may stand at the cursor. */
  async function complete(context) {
    const word = context.matchBefore(/[\w.`]*/);
    if (!word || (word.from === word.to && !context.explicit)) return null;
    const text = context.state.doc.toString();
    const dot = word.text.lastIndexOf(".");
    const before = dot < 0 ? "" : word.text.slice(0, dot);
    const option = (type, boost) => (label) => ({ label, type, detail: type, boost });
    const mentioned = tables.filter(({ name }) => new RegExp(`\\b${name.replace(/\W/g, "\\$&")}\\b`).test(text)).slice(0, 8);
    if (before) {
      const inDatabase = tables.filter(({ database }) => database === before).map(({ name }) => quoted(name));
      const columns = await Promise.all(mentioned.map(({ database, name }) => columnsOf(database, name)));
      const options = [...inDatabase.map(option("table", 2)), ...columns.flat().map(({ name, type }) => ({ label: quoted(name), detail: type, boost: 1 }))];
      return { from: word.from + dot + 1, options: once(options), validFor: /^\w*$/ };
    }
    const columns = await Promise.all(mentioned.map(({ database, name }) => columnsOf(database, name)));
    const options = [
      ...columns.flat().map(({ name, type }) => ({ label: quoted(name), detail: type, boost: 3 })),
      ...names.tables.map(option("table", 2)),
      ...[...new Set(tables.map(({ database }) => database))].map(option("database", 1)),
      ...keywords.map(option("", 0)),
      ...names.functions.map((label) => ({ label, apply: `${label}(`, detail: "function", boost: -1 })),
      ...names.settings.map(option("setting", -2)),
    ];
    return { from: word.from, options: once(options), validFor: /^\w*$/ };
  }

  return { element, load, complete, focus: () => filter.focus(), names };
}

function once(options) {
  return [...new Map(options.map((option) => [option.label, option])).values()];
}

function onEnter(work) {
  return (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      work();
    }
  };
}

/** A name as it can stand in a query. */
function quoted(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replace(/[\\`]/g, "\\$&")}\``;
}
