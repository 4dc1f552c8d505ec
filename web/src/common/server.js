// Asking the server over HTTP: who asks, what is asked, and what comes back. Nothing else on the pages talks to the network.

import { askForPassword } from "./login.js";
import { FORMAT, cells, isNumber } from "./tsv.js";

const USER = "squall.user";
/** Codes of errors that another name or password may mend: REQUIRED_PASSWORD, UNKNOWN_USER, WRONG_PASSWORD, AUTHENTICATION_FAILED. */
const CODES_OF_LOGIN = new Set([194, 192, 193, 516]);

/** Who asks. The password is only ever here, for as long as the page is open. */
const who = { user: localStorage.getItem(USER) ?? "", password: "" };
let asking = null;

/** What stands behind the sentence: the name of the error and the server's version. */
const TAIL = / ?\(([A-Z0-9_]+)\)(?: \(version .*\))?$/;

/** An error of a query, in the server's words. */
export class QueryError extends Error {
  constructor(text) {
    super(text.trim());
    this.code = Number(/^Code: (\d+)/.exec(text)?.[1] ?? 0);
    /** The name of the error, as `SYNTAX_ERROR`. */
    this.kind = TAIL.exec(this.message)?.[1] ?? "";
    const position = /failed at position (\d+)/.exec(text)?.[1];
    /** Where in the query it is, in bytes from 0, where the server knows. */
    this.position = position === undefined ? null : Number(position) - 1;
    /** The sentence without what is said around it. */
    this.sentence = this.message.replace(/^Code: \d+\. DB::Exception: /, "").replace(TAIL, "");
  }
}

/** The name of who asks, as far as one was given. */
export function userName() {
  return who.user;
}

/** Asks for another name and password. */
export async function changeUser(why = "") {
  asking ??= askForPassword(who.user, why).finally(() => (asking = null));
  const given = await asking;
  if (!given) return false;
  Object.assign(who, given);
  if (who.user) localStorage.setItem(USER, who.user);
  else localStorage.removeItem(USER);
  return true;
}

/**
 * Sends a query and gives the response once it begins. `parameters` are values of `{name:Type}`, `options` go into the URL: a
 * query_id, a session_id, settings.
 */
export async function send(sql, { parameters = {}, options = {}, format = FORMAT, signal } = {}) {
  const url = new URLSearchParams({ default_format: format, ...options });
  for (const [name, value] of Object.entries(parameters)) url.set(`param_${name}`, value);
  for (;;) {
    const headers = who.user || who.password ? { "X-ClickHouse-User": encoded(who.user || "default"), "X-ClickHouse-Key": encoded(who.password) } : {};
    const asked = { ...who };
    const response = await fetch(`/?${url}`, { method: "POST", headers, body: sql, signal, cache: "no-store" });
    if (response.ok) return response;
    const error = new QueryError(await response.text());
    if (!CODES_OF_LOGIN.has(error.code)) throw error;
    // Another request may have asked meanwhile.
    const isKnown = asked.user !== who.user || asked.password !== who.password;
    if (!isKnown && !(await changeUser(asked.password ? "The name or the password is wrong." : ""))) throw error;
  }
}

/** Headers hold bytes: a name of other letters goes as UTF-8. */
function encoded(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}

/** The lines of a response as they come, in lists. An error in the middle of them is thrown. */
export async function* lines(response) {
  const tag = response.headers.get("X-ClickHouse-Exception-Tag");
  const mark = `\r\n__exception__\r\n${tag ?? ""}`;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks(response.body)) {
    rest += decoder.decode(chunk, { stream: true });
    const end = rest.lastIndexOf("\n");
    if (end < 0 || rest.includes(mark)) continue;
    const whole = rest.slice(0, end).split("\n");
    rest = rest.slice(end + 1);
    yield whole;
  }
  const failed = rest.indexOf(mark);
  if (failed >= 0) throw new QueryError(rest.slice(failed + mark.length).replace(/\n\d+ \w+\r\n__exception__\s*$/, ""));
  if (rest) yield [rest];
}

async function* chunks(stream) {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The rows of a short query, each an object; numbers are numbers. */
export async function rows(sql, options) {
  const all = [];
  for await (const more of lines(await send(sql, options))) all.push(...more);
  if (all.length < 2) return [];
  const names = cells(all[0]);
  const numeric = cells(all[1]).map(isNumber);
  return all.slice(2).map((line) => {
    const values = cells(line).map((value, at) => (numeric[at] && value !== null ? Number(value) : value));
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  });
}

/** Stops a query of ours. */
export function kill(queryId) {
  return send(`KILL QUERY WHERE query_id = '${queryId}' ASYNC`).catch(() => null);
}

/** An id for a query. */
export function newId() {
  // Pages over plain HTTP have no crypto.randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
