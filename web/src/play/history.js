// The queries that were run here, kept in the browser.

const KEY = "squall.history";
const MOST = 300;
/** Longer texts are not kept: the browser keeps a few megabytes in all. */
const LENGTH_MAX = 20_000;

/** The queries, the latest first. */
export function past() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

/** Adds one; the same text as the latest takes its place. */
export function remember(entry) {
  if (entry.sql.length > LENGTH_MAX) return;
  const others = past();
  if (others[0]?.sql === entry.sql) others.shift();
  try {
    localStorage.setItem(KEY, JSON.stringify([entry, ...others].slice(0, MOST)));
  } catch {
    // No room in the browser: history is not worth an error.
  }
}

/** Forgets all. */
export function forget() {
  localStorage.removeItem(KEY);
}
