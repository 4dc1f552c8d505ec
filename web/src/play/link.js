// A query in the URL's fragment, which browsers do not send to anyone. Links are read and filled in, never run: whoever follows one
// should see first what it does.

/** What the fragment holds: the query, values of parameters, the view. Also reads what ClickHouse's page writes: the query alone. */
export function readLink() {
  const fragment = location.hash.slice(1);
  if (!fragment) return null;
  if (!/^(?:q|p_\w+|view)=/.test(fragment)) return { sql: decode(fragment), parameters: {}, view: null };
  const parts = new URLSearchParams(fragment);
  const parameters = {};
  for (const [name, value] of parts) if (name.startsWith("p_")) parameters[name.slice(2)] = value;
  return { sql: decode(parts.get("q") ?? ""), parameters, view: parts.get("view") };
}

/** Writes it. */
export function writeLink({ sql, parameters, view }) {
  const parts = new URLSearchParams({ q: encode(sql) });
  for (const [name, value] of Object.entries(parameters)) if (value !== "") parts.set(`p_${name}`, value);
  if (view && view !== "table") parts.set("view", view);
  history.replaceState(null, "", `#${parts}`);
}

function encode(text) {
  const bytes = new TextEncoder().encode(text);
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decode(text) {
  try {
    const letters = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder().decode(Uint8Array.from(letters, (letter) => letter.charCodeAt(0)));
  } catch {
    return "";
  }
}
