// Asks the server what its workers do, again and again.

import { rows } from "../common/server.js";

/** How often. */
const INTERVAL_MS = 500;
/** Text of a query that is asked for. */
const TEXT_MAX = 4000;

const STEPS = `SELECT worker, number, query_id, toUnixTimestamp64Micro(event_time_microseconds) AS began, duration_us, cpu_us,
    waited_us, pass_us, outcome
  FROM system.scheduler_steps WHERE toUnixTimestamp64Micro(event_time_microseconds) >= {since:Int64} ORDER BY worker, number`;
const TASKS = `SELECT query_id, policy, is_runnable, workers, workers_max, slots, slots_wanted, weight, pass_us, cpu_us, waiting_us, waited_us
  FROM system.scheduler`;
const PROCESSES = `SELECT query_id, user, elapsed, read_rows, total_rows_approx, memory_usage, substring(query, 1, ${TEXT_MAX}) AS query, query_kind,
    ProfileEvents['SchedulerMorsels'] AS morsels, ProfileEvents['OSCPUVirtualTimeMicroseconds'] AS used_us,
    ProfileEvents['SchedulerQueueWaitMicroseconds'] AS worker_wait, ProfileEvents['AdmissionQueueWaitMicroseconds'] AS admission_wait,
    ProfileEvents['OSCPUWaitMicroseconds'] AS cpu_wait, ProfileEvents['MemoryOvercommitWaitTimeMicroseconds'] AS memory_wait,
    ProfileEvents['DiskReadElapsedMicroseconds'] + ProfileEvents['DiskWriteElapsedMicroseconds'] AS disk_wait,
    ProfileEvents['NetworkSendElapsedMicroseconds'] AS client_wait
  FROM system.processes`;
const NOW = `SELECT toUnixTimestamp64Micro(now64(6)) AS now,
    (SELECT value FROM system.metrics WHERE metric = 'SchedulerWorkers') AS workers,
    (SELECT value FROM system.metrics WHERE metric = 'ConcurrentQueryScheduled') AS admission`;

/** Queries that came and went between two looks: the log knows them, a few seconds later. */
const NAMES = `SELECT query_id, any(user) AS user, any(substring(query, 1, ${TEXT_MAX})) AS query FROM system.query_log
  WHERE event_date >= yesterday() AND event_time >= now() - 120 AND query_id IN {ids:Array(String)} GROUP BY query_id`;
const NAMES_EVERY = 8;
const NAMES_MAX = 300;

/** Fills a recording with what the server says, until it is stopped; tells of each change, and of errors. */
export function startFeed(recording, { changed, failed }) {
  let isOver = false;
  let timer;
  let looks = 0;
  const look = async () => {
    try {
      // A little twice, as a step is noted when it has ended; what is known is left out.
      const since = Math.max(recording.now - 2e6, 0);
      const [steps, tasks, processes, [now]] = await Promise.all([
        rows(STEPS, { parameters: { since: String(Math.round(since)) } }),
        rows(TASKS),
        rows(PROCESSES),
        rows(NOW),
      ]);
      if (isOver) return;
      recording.add({ now: now.now, workers: now.workers, steps, tasks, processes: processes.map((process) => ({ ...process, admission: now.admission })) });
      recording.inAdmission = now.admission;
      looks += 1;
      if (looks % NAMES_EVERY === 0) await lookUpNames(recording);
      changed();
    } catch (error) {
      if (!isOver) failed(error);
    }
    if (!isOver) timer = setTimeout(look, document.hidden ? 4 * INTERVAL_MS : INTERVAL_MS);
  };
  look();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

async function lookUpNames(recording) {
  const unknown = [...recording.queries.values()].filter(({ query, query_id }) => query === undefined && /^[\w.-]+$/.test(query_id));
  if (unknown.length === 0) return;
  const ids = `[${unknown.slice(-NAMES_MAX).map(({ query_id }) => `'${query_id}'`).join(",")}]`;
  // Without a query log there are no names.
  for (const found of await rows(NAMES, { parameters: { ids } }).catch(() => [])) Object.assign(recording.queries.get(found.query_id) ?? {}, found);
}
