// The format TabSeparatedWithNamesAndTypes: what all pages ask for, as every value in it stands as the server prints it, a row is a
// line, and no setting is needed that a user may not change.

export const FORMAT = "TabSeparatedWithNamesAndTypes";

const ESCAPES = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", 0: "\0", "'": "'", "\\": "\\" };

/** The text of a cell; `null` for NULL. */
export function cell(text) {
  if (text === "\\N") return null;
  return text.includes("\\") ? text.replace(/\\(.)/gs, (_, letter) => ESCAPES[letter] ?? letter) : text;
}

/** The cells of a line. */
export function cells(line) {
  return line.split("\t").map(cell);
}

/** Whether a type's values are numbers. */
export function isNumber(type) {
  return /^(?:Nullable\(|LowCardinality\()*(?:U?Int\d+|Float\d+|BFloat16|Decimal)/.test(type);
}

/** Whether a type's values are days or moments. */
export function isTime(type) {
  return /^(?:Nullable\(|LowCardinality\()*Date/.test(type);
}

/** A moment as seconds since 1970, read as if it were UTC, so that it is drawn as it is printed. */
export function timeOf(text) {
  const [day, clock = "00:00:00"] = text.split(" ");
  return Date.parse(`${day}T${clock}Z`) / 1000;
}
