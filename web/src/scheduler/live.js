// The scheduler as it works now.

import { fill, h } from "../common/dom.js";
import { count, duration } from "../common/quantity.js";
import { onTheme, palette } from "../common/theme.js";
import { causesOf, causesOfAll } from "./causes.js";
import { makeDetails, oneLine } from "./details.js";
import { startFeed } from "./feed.js";
import { makeLanes } from "./lanes.js";
import { Recording } from "./recording.js";

const SPANS = [1, 2, 5, 10, 30];
/** The picture is this much behind, so that what it shows is known. */
const BEHIND_US = 900e3;
const LANES_MAX = 40;
const OUTCOMES = {
  stays: "then went on with the same query",
  yields: "then went to another query that was due",
  idle: "then found nothing more of it to do",
  finished: "then the query was over",
};

/** The view. */
export function makeLive() {
  const recording = new Recording();
  const details = makeDetails({ choose: (id) => chooseId(id) });
  const lanes = makeLanes({ tell, choose: (lane) => chooseId(lane.id) });
  const tiles = h("div", { class: "tiles" });
  const legend = h("div", { class: "legend" });
  const notice = h("p", { class: "notice", hidden: true, role: "alert" });
  const pause = h("button", { class: "quiet", title: "Space", onclick: () => setPaused(!paused) }, "Pause");
  const spans = h("div", { class: "segments", role: "group", "aria-label": "Seconds shown" }, SPANS.map((seconds) => h("button", { "data-seconds": seconds, onclick: () => setSpan(seconds) }, `${seconds} s`)));
  const empty = h("p", { class: "empty muted", hidden: true }, "The workers have nothing to do. Small queries run where they arrive and are not shown.");
  const element = h("div", { class: "view" }, h("div", { class: "toolbar" }, tiles, h("span", { class: "grow" }), spans, pause), legend, notice, h("div", { class: "stage" }, h("div", { class: "picture" }, empty, lanes.element), details.element));
  let span = 5;
  let paused = null;
  let chosen = null;
  let colors = palette();
  let stop = null;
  let frame = 0;
  let clockOffset = 0;
  let shown = { from: 0, to: 0, lanes: [] };
  onTheme(() => (colors = palette()));
  setSpan(span);

  function setSpan(seconds) {
    span = seconds;
    for (const button of spans.children) button.setAttribute("aria-pressed", String(Number(button.dataset.seconds) === seconds));
  }

  function setPaused(next) {
    paused = next ? serverNow() - BEHIND_US : null;
    pause.textContent = paused === null ? "Pause" : "Go on";
  }

  function serverNow() {
    return performance.now() * 1000 + clockOffset;
  }

  function changed() {
    notice.hidden = true;
    const offset = recording.now - performance.now() * 1000;
    // The clocks are apart by the way of an answer at most; a jump is one of the server's.
    clockOffset = Math.abs(offset - clockOffset) > 2e6 ? offset : Math.max(clockOffset, offset);
    drawTiles();
    showDetails();
  }

  function failed(error) {
    notice.hidden = false;
    notice.textContent = error.sentence ?? error.message;
  }

  function draw() {
    frame = requestAnimationFrame(draw);
    if (recording.now === 0) return;
    const to = paused ?? serverNow() - BEHIND_US;
    const from = to - span * 1e6;
    const found = recording.lanes(from, to, LANES_MAX);
    shown = { from, to, lanes: found.lanes };
    empty.hidden = found.lanes.length > 0;
    lanes.show({ from, to, chosen, lanes: found.lanes.map(picture) });
  }

  function picture(lane) {
    const marks = lane.waits.map((wait) => ({ ...wait, isWait: true }));
    const stripes = stripesOf(lane.steps);
    for (const step of lane.steps) {
      const [top, height] = stripes ? [stripes.indexOf(step.worker) / stripes.length, 1 / stripes.length] : [0, 1];
      marks.push({ from: step.began, to: step.end, color: colors[step.worker % colors.length], step, top, height });
    }
    const text = oneLine(lane) || (lane.id ? lane.id : "queries over for long");
    const words = [lane.user ?? (isBackground(lane) && "background"), `${duration(lane.busy / 1e6)} at work`, lane.waited > 0 && `${duration(lane.waited / 1e6)} waiting`];
    return { id: lane.id, title: text, detail: words.filter(Boolean).join(" · "), marks };
  }

  /** Work without a client has a name where queries have an id: a log that is written, a merge. */
  function isBackground({ id, query }) {
    return id !== "" && query === undefined && !/^[\da-f]{8}-/.test(id);
  }

  /** The workers of a lane, where several were at it at once: each then has a stripe. */
  function stripesOf(steps) {
    const inOrder = [...steps].sort((a, b) => a.began - b.began);
    const overlaps = inOrder.some((step, at) => at > 0 && step.worker !== inOrder[at - 1].worker && step.began < inOrder[at - 1].end);
    return overlaps ? [...new Set(steps.map(({ worker }) => worker))].sort((a, b) => a - b) : null;
  }

  function tell(lane, mark) {
    if (mark.isWait) {
      const causes = causesOf(lane.id, mark.from, mark.to, recording.steps).slice(0, 4);
      return [
        h("strong", null, `Waited ${duration((mark.to - mark.from) / 1e6)} for a worker`),
        ...(causes.length ? [h("div", { class: "muted" }, "Meanwhile the workers were at:")] : []),
        ...causes.map(({ query_id, us, share }) => h("div", null, `${Math.round(share * 100)} % `, nameOf(query_id).slice(0, 60), h("span", { class: "muted" }, ` ${duration(us / 1e6)}`))),
      ];
    }
    const { step } = mark;
    const lost = Math.max(0, step.duration_us - step.cpu_us);
    return [
      h("strong", null, `Worker ${step.worker}: ${duration(step.duration_us / 1e6)}`),
      h("div", { class: "muted" }, `${duration(step.cpu_us / 1e6)} of CPU time${lost > 100 ? `, ${duration(lost / 1e6)} without a CPU` : ""}`),
      h("div", { class: "muted" }, OUTCOMES[step.outcome]),
      h("div", { class: "muted" }, `pass ${Math.round(step.pass_us / 1000)} ms`),
    ];
  }

  function nameOf(id) {
    return oneLine(recording.queries.get(id)) || id || "queries over for long";
  }

  function chooseId(id) {
    chosen = id;
    showDetails();
  }

  function showDetails() {
    if (chosen === null) return;
    const query = recording.queries.get(chosen) ?? { query_id: chosen };
    const { from, to } = shown;
    const waits = (recording.waits.get(chosen) ?? []).filter((wait) => wait.to >= from && wait.from <= to);
    const task = recording.tasks.find(({ query_id }) => query_id === chosen);
    const isWaiting = task?.waiting_us > 1000 ? [{ from: recording.now - task.waiting_us, to: recording.now }] : [];
    // Work without a client is no process: what was seen of it is told.
    const seen = recording.steps.filter((step) => step.query_id === chosen && step.end >= from && step.began <= to);
    const total = (list, of) => list.reduce((sum, one) => sum + of(one), 0);
    const ofShown = { worker_wait: total(waits, (wait) => wait.to - wait.from), used_us: total(seen, ({ cpu_us }) => cpu_us), morsels: seen.length };
    details.show({ ...(query.elapsed === undefined ? ofShown : {}), ...query, task }, { causes: causesOfAll(chosen, [...waits, ...isWaiting], recording.steps), name: nameOf, note: "Of the time that is shown." });
  }

  function drawTiles() {
    const to = recording.now;
    const shares = recording.shares(to - 1e6, to);
    const atWork = shares.reduce((sum, share) => sum + share, 0);
    const waiting = recording.tasks.filter(({ waiting_us }) => waiting_us > 1000);
    const longest = Math.max(0, ...waiting.map(({ waiting_us }) => waiting_us));
    const tile = (value, label, isBad) => h("div", { class: `tile${isBad ? " bad" : ""}` }, h("strong", null, value), h("span", null, label));
    fill(
      tiles,
      tile(`${atWork.toFixed(1)} / ${recording.workers}`, "workers at work"),
      tile(String(recording.tasks.length), "queries with the workers"),
      tile(waiting.length ? `${waiting.length} · ${duration(longest / 1e6)}` : "0", "wait for a worker", waiting.length > 0),
      tile(String(recording.inAdmission ?? 0), "wait to be admitted", recording.inAdmission > 0),
    );
    const worker = (share, at) => {
      const swatch = h("span", { class: "swatch" });
      swatch.style.background = colors[at % colors.length];
      return h("span", { class: "worker", title: `Worker ${at} was at work ${Math.round(share * 100)} % of the last second` }, swatch, `Worker ${at} `, h("span", { class: "muted" }, `${Math.round(share * 100)} %`));
    };
    const isMany = shares.length > 16;
    const bound = recording.tasks.some(({ policy }) => policy !== "stride");
    fill(
      legend,
      isMany ? h("span", { class: "muted" }, count(shares.length, "worker")) : shares.map(worker),
      h("span", { class: "worker" }, h("span", { class: "swatch waits" }), "waits for a worker"),
      bound && h("span", { class: "muted" }, "Queries under a policy that binds threads to them are not drawn: they have no morsels on workers."),
    );
  }

  return {
    element,
    start() {
      stop ??= startFeed(recording, { changed, failed });
      cancelAnimationFrame(frame);
      draw();
    },
    end() {
      stop?.();
      stop = null;
      cancelAnimationFrame(frame);
    },
    toggle: () => setPaused(paused === null),
  };
}
