// Running a statement: its rows as they come, how far it is, and its end.

import { QueryError, kill, lines, newId, rows, send } from "../common/server.js";
import { FORMAT, cells } from "../common/tsv.js";

/** The most rows that a result keeps; a download has all. */
export const ROWS_MAX = 100_000;
/** How often the server is asked how far a query is. */
const PROGRESS_MS = 250;
/** How long a session that another statement has just left may still be taken. */
const SESSION_WAIT_MS = 100;
const SESSION_TRIES = 20;
const SESSION_IS_LOCKED = 373;

const PROGRESS = `SELECT elapsed, read_rows, read_bytes, total_rows_approx, memory_usage, peak_threads_usage, length(thread_ids) AS threads
  FROM system.processes WHERE query_id = {id:String}`;

/** One run of one statement. `changed` is called whenever there is more to show. */
export class Run {
  constructor(statement, { parameters, session, changed }) {
    this.statement = statement;
    this.parameters = parameters;
    this.session = session;
    this.changed = changed;
    this.id = newId();
    this.state = "running";
    this.names = [];
    this.types = [];
    /** The rows' lines; cells are cut out of them when they are shown. */
    this.lines = [];
    /** The answer as text, where it is in a format of the statement's own. */
    this.text = null;
    this.format = FORMAT;
    this.isCut = false;
    this.error = null;
    this.progress = null;
    this.seconds = 0;
    this.stop = new AbortController();
  }

  /** Runs it to its end. */
  async run() {
    const began = performance.now();
    const watch = setInterval(() => this.look(began), PROGRESS_MS);
    try {
      await this.read(await this.begin());
      this.state = "done";
    } catch (error) {
      this.state = this.stop.signal.aborted ? "cancelled" : "failed";
      if (this.state === "failed") this.error = error instanceof QueryError ? error : new QueryError(`The server cannot be reached: ${error.message}`);
    }
    clearInterval(watch);
    this.seconds = (performance.now() - began) / 1000;
    this.changed(this);
  }

  /** Stops it. */
  cancel() {
    if (this.state !== "running") return;
    this.stop.abort();
    kill(this.id);
  }

  async begin() {
    const options = { query_id: this.id, session_id: this.session, session_timeout: "600" };
    for (let tries = 1; ; tries += 1) {
      try {
        return await send(this.statement.text, { parameters: this.parameters, options, signal: this.stop.signal });
      } catch (error) {
        if (error.code !== SESSION_IS_LOCKED || tries === SESSION_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, SESSION_WAIT_MS));
      }
    }
  }

  async read(response) {
    this.format = response.headers.get("X-ClickHouse-Format") ?? FORMAT;
    if (this.format !== FORMAT) {
      this.text = "";
      for await (const more of lines(response)) {
        this.text += `${more.join("\n")}\n`;
        if (this.text.length > ROWS_MAX * 100) {
          this.isCut = true;
          break;
        }
      }
      return;
    }
    let shown = 0;
    for await (const more of lines(response)) {
      for (const line of more) {
        if (this.names.length === 0) this.names = cells(line);
        else if (this.types.length === 0) this.types = cells(line);
        else this.lines.push(line);
      }
      if (this.lines.length > ROWS_MAX) {
        this.lines.length = ROWS_MAX;
        this.isCut = true;
        // What is not shown need not be computed.
        kill(this.id);
        break;
      }
      if (performance.now() - shown > PROGRESS_MS / 2) {
        shown = performance.now();
        this.changed(this);
      }
    }
  }

  async look(began) {
    this.seconds = (performance.now() - began) / 1000;
    if (this.state !== "running") return;
    const [found] = await rows(PROGRESS, { parameters: { id: this.id } }).catch(() => []);
    if (found) this.progress = found;
    if (this.state === "running") this.changed(this);
  }
}
