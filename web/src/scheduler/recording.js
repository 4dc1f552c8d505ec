// What was seen of the scheduler: steps of workers, waits before them, and the queries that they are of. Times are microseconds since 1970.

/** Longer ago is forgotten. */
const KEPT_US = 60e6;
/** Shorter waits are not shown: a worker takes a moment to come. */
const WAIT_MIN_US = 200;

export class Recording {
  constructor() {
    this.steps = [];
    this.waits = new Map();
    this.queries = new Map();
    this.last = new Map();
    this.tasks = [];
    /** The server's clock when it last answered. */
    this.now = 0;
    this.workers = 0;
  }

  /** Takes an answer of the server. */
  add({ now, workers, steps, tasks, processes }) {
    this.now = now;
    this.workers = workers;
    this.tasks = tasks;
    for (const process of processes) this.query(process.query_id, process);
    for (const task of tasks) this.query(task.query_id, { task });
    for (const step of steps) {
      if (step.number <= (this.last.get(step.worker) ?? -1)) continue;
      this.last.set(step.worker, step.number);
      step.end = step.began + step.duration_us;
      this.steps.push(step);
      this.query(step.query_id, {}, step.began);
      if (step.waited_us >= WAIT_MIN_US) {
        if (!this.waits.has(step.query_id)) this.waits.set(step.query_id, []);
        this.waits.get(step.query_id).push({ from: step.began - step.waited_us, to: step.began });
      }
    }
    this.forget(now - KEPT_US);
  }

  query(id, more, began = this.now) {
    const known = this.queries.get(id) ?? { query_id: id, first: began };
    Object.assign(known, more, { seen: this.now });
    this.queries.set(id, known);
  }

  forget(before) {
    const first = this.steps.findIndex(({ end }) => end >= before);
    if (first > 0) this.steps.splice(0, first);
    for (const [id, waits] of this.waits) {
      const kept = waits.filter(({ to }) => to >= before);
      if (kept.length) this.waits.set(id, kept);
      else this.waits.delete(id);
    }
    for (const [id, { seen }] of this.queries) if (seen < before && !this.waits.has(id)) this.queries.delete(id);
  }

  /** The lanes of a time: its queries, those that began first on top, with their steps and waits. */
  lanes(from, to, most) {
    const lanes = new Map();
    const lane = (id) => {
      if (!lanes.has(id)) lanes.set(id, { id, ...this.queries.get(id), steps: [], waits: [], busy: 0, waited: 0 });
      return lanes.get(id);
    };
    for (const step of this.steps) {
      if (step.end < from || step.began > to) continue;
      const one = lane(step.query_id);
      one.steps.push(step);
      one.busy += step.duration_us;
    }
    for (const [id, waits] of this.waits) {
      const seen = waits.filter((wait) => wait.to >= from && wait.from <= to);
      if (seen.length === 0) continue;
      const one = lane(id);
      one.waits.push(...seen);
      one.waited += seen.reduce((sum, wait) => sum + wait.to - wait.from, 0);
    }
    for (const task of this.tasks) {
      if (task.waiting_us < WAIT_MIN_US || this.now < from) continue;
      const one = lane(task.query_id);
      const wait = { from: this.now - task.waiting_us, to: Math.max(this.now, Math.min(to, this.now + 1e6)), isNow: true };
      one.waits.push(wait);
      one.waited += task.waiting_us;
    }
    const all = [...lanes.values()].sort((a, b) => b.busy + b.waited - a.busy - a.waited).slice(0, most);
    return { lanes: all.sort((a, b) => (a.first ?? 0) - (b.first ?? 0) || (a.id < b.id ? -1 : 1)), left: lanes.size - all.length };
  }

  /** How much of a time each worker was at work. */
  shares(from, to) {
    const shares = Array(this.workers).fill(0);
    for (const step of this.steps) {
      const overlap = Math.min(step.end, to) - Math.max(step.began, from);
      if (overlap > 0 && step.worker < shares.length) shares[step.worker] += overlap / (to - from);
    }
    return shares;
  }
}
