// Who caused a wait: while a query that could run had no worker, the workers were at others. All times are in microseconds.

/** The time that each other query had workers within `from` … `to`, the largest first, and the share of all. */
export function causesOf(queryId, from, to, steps) {
  const used = new Map();
  for (const step of steps) {
    if (step.query_id === queryId) continue;
    const overlap = Math.min(step.end, to) - Math.max(step.began, from);
    if (overlap > 0) used.set(step.query_id, (used.get(step.query_id) ?? 0) + overlap);
  }
  return ranked(used);
}

/** The same for all waits of a query. */
export function causesOfAll(queryId, waits, steps) {
  const used = new Map();
  for (const { from, to } of waits) {
    for (const { query_id, us } of causesOf(queryId, from, to, steps)) used.set(query_id, (used.get(query_id) ?? 0) + us);
  }
  return ranked(used);
}

/**
 * The same from the query log, which says how much CPU time a query used but not when: as if it had been spread over the query's time.
 */
export function likelyCauses(query, others) {
  const used = new Map();
  for (const other of others) {
    if (other.query_id === query.query_id || other.took <= 0) continue;
    const overlap = Math.min(other.end, query.end) - Math.max(other.began, query.began);
    if (overlap > 0) used.set(other.query_id, (other.cpu * overlap) / other.took);
  }
  return ranked(used);
}

function ranked(used) {
  const all = [...used.values()].reduce((sum, us) => sum + us, 0);
  return [...used].map(([query_id, us]) => ({ query_id, us, share: us / all })).sort((a, b) => b.us - a.us);
}
