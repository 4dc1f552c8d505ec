// Where in a statement an error is.

/** The part of the text that an error is about: `from` and `to`, counted from the beginning of the editor's text. */
export function placeOf(error, statement) {
  const { text, from } = statement;
  if (error.position !== null && error.position !== undefined) {
    // The server counts bytes.
    const bytes = new TextEncoder().encode(text).slice(0, error.position);
    const at = Math.min(new TextDecoder().decode(bytes).length, text.length);
    const word = /^(?:[\w$]+|\S)/.exec(text.slice(at))?.[0] ?? "";
    return word ? { from: from + at, to: from + at + word.length } : { from: from + Math.max(at - 1, 0), to: from + text.length };
  }
  // Otherwise what it names in quotes is looked for.
  for (const [, , name] of error.message.matchAll(/(['`"])((?:(?!\1).)+)\1/g)) {
    const last = name.split(".").at(-1);
    for (const wanted of [name, last]) {
      const found = new RegExp(`(?<![\\w])${wanted.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w])`).exec(text);
      if (found) return { from: from + found.index, to: from + found.index + wanted.length };
    }
  }
  const named = /(?:function|column|table|identifier|Table|Function|Column) ([\w.]+)/.exec(error.message)?.[1];
  const at = named ? text.indexOf(named) : -1;
  return at < 0 ? null : { from: from + at, to: from + at + named.length };
}
