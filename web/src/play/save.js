// Saving a result: the statement is run again in the format that is chosen, and its answer becomes a file.

import { fill, h } from "../common/dom.js";
import { rows, send } from "../common/server.js";

/** Those that most want, first. */
const COMMON = ["CSVWithNames", "TabSeparatedWithNames", "JSON", "JSONEachRow", "Parquet", "Markdown"];
const ENDINGS = [
  [/^CSV/, "csv"],
  [/^(TSV|TabSeparated)/, "tsv"],
  [/^JSON.*EachRow|^JSONLines|^NDJSON/, "jsonl"],
  [/^JSON/, "json"],
  [/^Parquet/, "parquet"],
  [/^Arrow/, "arrow"],
  [/^Markdown/, "md"],
  [/^XML/, "xml"],
  [/^SQLInsert|^Values/, "sql"],
  [/^(Native|RowBinary)/, "bin"],
];

/** The menu. */
export function saveMenu() {
  const select = h("select", { class: "save", title: "Download the whole result", "aria-label": "Download", onchange: () => save(select.value) });
  let run = null;
  let isFilled = false;
  select.addEventListener("focus", fillFormats);
  select.addEventListener("pointerdown", fillFormats);
  const first = () => h("option", { value: "" }, "Download");
  fill(select, first(), COMMON.map((name) => h("option", null, name)));

  async function fillFormats() {
    if (isFilled) return;
    isFilled = true;
    const all = await rows("SELECT name FROM system.formats WHERE is_output ORDER BY name").catch(() => []);
    const names = all.map(({ name }) => name).filter((name) => name !== "Null");
    const common = COMMON.filter((name) => names.includes(name));
    const option = (name) => h("option", null, name);
    if (names.length > 0) fill(select, first(), h("optgroup", { label: "Common" }, common.map(option)), h("optgroup", { label: "All" }, names.filter((name) => !common.includes(name)).map(option)));
  }

  async function save(format) {
    select.value = "";
    if (!format || !run) return;
    select.disabled = true;
    try {
      const response = await send(run.statement.text, { parameters: run.parameters, options: { session_id: run.session }, format });
      const blob = await response.blob();
      const chosen = response.headers.get("X-ClickHouse-Format") ?? format;
      const ending = ENDINGS.find(([pattern]) => pattern.test(chosen))?.[1] ?? "txt";
      const link = h("a", { href: URL.createObjectURL(blob), download: `result.${ending}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    } catch (error) {
      alert(error.sentence ?? error.message);
    } finally {
      select.disabled = false;
    }
  }

  return { element: select, of: (next) => (run = next) };
}
