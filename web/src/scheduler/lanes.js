// Draws lanes on a canvas: a lane a query, time to the right. What is in a lane are marks of two kinds: bars with a colour, and waits,
// which are thin and hatched. Finds the mark under the pointer.

import { h } from "../common/dom.js";
import { color, isDark, onTheme } from "../common/theme.js";

const LANE = 34;
const AXIS = 26;
const BAR = 18;
const LABELS = 250;

/** Lanes in an element. `tell` gives what to say of a mark, `choose` is called with a lane. `zoom` is called with a time that was drawn. */
export function makeLanes({ tell, choose, zoom }) {
  const canvas = h("canvas", { tabIndex: 0, "aria-label": "Queries over time" });
  const tip = h("div", { class: "tip", hidden: true });
  const element = h("div", { class: "lanes" }, canvas, tip);
  let view = { lanes: [], from: 0, to: 1 };
  let marks = [];
  let colors = null;
  let dragged = null;
  const takeColors = () => (colors = { text: color("--text"), muted: color("--muted"), line: color("--line"), panel: color("--panel"), wait: color("--wait"), selected: color("--selected"), accent: color("--accent"), dark: isDark() });
  onTheme(() => ((colors = null), draw()));
  new ResizeObserver(() => draw()).observe(element);

  /** Shows lanes: each with `id`, `title`, `detail`, and marks `{from, to, color, isWait, …}`. `cursor` is a moment to be marked. */
  function show(next) {
    view = { ...view, ...next };
    draw();
  }

  function draw() {
    if (!colors) takeColors();
    const width = element.clientWidth;
    const height = Math.max(element.clientHeight, AXIS + view.lanes.length * LANE + 4);
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    marks = [];
    drawAxis(pen, width, height);
    view.lanes.forEach((lane, at) => drawLane(pen, lane, AXIS + at * LANE, width));
    if (dragged) {
      pen.globalAlpha = 0.15;
      pen.fillStyle = colors.accent;
      pen.fillRect(Math.min(dragged.from, dragged.to), AXIS, Math.abs(dragged.to - dragged.from), height - AXIS);
      pen.globalAlpha = 1;
    }
  }

  function place(time, width) {
    return LABELS + ((time - view.from) / (view.to - view.from)) * (width - LABELS);
  }

  function drawAxis(pen, width, height) {
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const step = stepOf((view.to - view.from) / Math.max(1, (width - LABELS) / 110));
    for (let time = Math.ceil(view.from / step) * step; time < view.to; time += step) {
      const x = Math.round(place(time, width)) + 0.5;
      pen.strokeStyle = colors.line;
      pen.beginPath();
      pen.moveTo(x, AXIS - 4);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillStyle = colors.muted;
      pen.fillText(clock(time, step), x + 4, AXIS / 2);
    }
  }

  function drawLane(pen, lane, top, width) {
    if (lane.id === view.chosen) {
      pen.fillStyle = colors.selected;
      pen.fillRect(0, top, width, LANE);
    }
    pen.strokeStyle = colors.line;
    pen.beginPath();
    pen.moveTo(0, top + LANE - 0.5);
    pen.lineTo(width, top + LANE - 0.5);
    pen.stroke();
    pen.save();
    pen.beginPath();
    pen.rect(LABELS, top, width - LABELS, LANE);
    pen.clip();
    const y = top + (LANE - BAR) / 2;
    for (const mark of lane.marks) {
      if (mark.to < view.from || mark.from > view.to) continue;
      const x = place(mark.from, width);
      const long = Math.max(place(mark.to, width) - x, mark.least ?? 0.6);
      if (mark.isWait) {
        pen.fillStyle = colors.wait;
        pen.globalAlpha = 0.28;
        pen.fillRect(x, y + 5, long, BAR - 10);
        pen.globalAlpha = 1;
        pen.fillRect(x, y + 5, Math.min(1.5, long), BAR - 10);
      } else {
        pen.fillStyle = mark.color;
        pen.globalAlpha = mark.alpha ?? 1;
        // Two morsels of one worker can be told apart where there is room.
        pen.fillRect(x, y + (mark.top ?? 0) * BAR, long > 4 ? long - 0.8 : long, BAR * (mark.height ?? 1));
        pen.globalAlpha = 1;
      }
      marks.push({ lane, mark, x, long, top });
    }
    pen.restore();
    pen.font = "12.5px system-ui, sans-serif";
    pen.fillStyle = colors.text;
    pen.fillText(cut(pen, lane.title, LABELS - 24), 14, top + 12);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = colors.muted;
    pen.fillText(cut(pen, lane.detail, LABELS - 24), 14, top + 25);
  }

  function find({ offsetX, offsetY }) {
    const lane = view.lanes[Math.floor((offsetY - AXIS) / LANE)];
    if (!lane) return {};
    // The nearest mark within a few pixels: some are thinner than a pointer.
    const near = marks.filter((one) => one.lane === lane && offsetX >= one.x - 3 && offsetX <= one.x + one.long + 3);
    const distance = (one) => Math.abs(offsetX - (one.x + one.long / 2)) - one.long / 2;
    return { lane, mark: offsetX > LABELS ? near.sort((a, b) => distance(a) - distance(b))[0]?.mark : null };
  }

  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      dragged.to = Math.max(LABELS, event.offsetX);
      draw();
      return;
    }
    const { lane, mark } = find(event);
    canvas.style.cursor = lane ? "pointer" : "default";
    const words = mark ? tell(lane, mark) : null;
    tip.hidden = !words;
    if (!words) return;
    tip.replaceChildren(...words);
    const isRight = event.offsetX > element.clientWidth - 340;
    tip.style.left = isRight ? "" : `${event.offsetX + 14}px`;
    tip.style.right = isRight ? `${element.clientWidth - event.offsetX + 14}px` : "";
    tip.style.top = `${Math.min(event.offsetY + 16, element.scrollTop + element.clientHeight - tip.offsetHeight - 6)}px`;
  });
  canvas.addEventListener("pointerleave", () => (tip.hidden = true));
  canvas.addEventListener("pointerdown", (event) => {
    if (zoom && event.offsetX > LABELS) dragged = { from: event.offsetX, to: event.offsetX };
  });
  canvas.addEventListener("pointerup", (event) => {
    const drag = dragged;
    dragged = null;
    if (drag && Math.abs(drag.to - drag.from) > 8) {
      const time = (x) => view.from + ((x - LABELS) / (element.clientWidth - LABELS)) * (view.to - view.from);
      zoom(time(Math.min(drag.from, drag.to)), time(Math.max(drag.from, drag.to)));
      return;
    }
    const { lane } = find(event);
    if (lane) choose(lane);
    draw();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || view.lanes.length === 0) return;
    event.preventDefault();
    const at = view.lanes.findIndex(({ id }) => id === view.chosen);
    choose(view.lanes[Math.min(Math.max(at + step, 0), view.lanes.length - 1)]);
  });
  return { element, show };
}

function cut(pen, text, width) {
  let shown = text ?? "";
  if (pen.measureText(shown).width <= width) return shown;
  while (shown.length > 1 && pen.measureText(`${shown}…`).width > width) shown = shown.slice(0, -Math.max(1, Math.floor(shown.length / 20)));
  return `${shown}…`;
}

/** The least pleasant step of an axis that is at least this, in microseconds. */
function stepOf(least) {
  for (const step of [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 3e7, 6e7, 12e7, 3e8, 6e8, 9e8, 18e8, 36e8, 72e8, 216e8, 432e8]) if (step >= least) return step;
  return 864e8;
}

/** A moment, as exactly as the axis needs. */
export function clock(time, step = 1) {
  const text = new Date(time / 1000).toISOString();
  if (step >= 864e8) return text.slice(0, 10);
  if (step >= 6e7) return text.slice(11, 16);
  if (step >= 1e6) return text.slice(11, 19);
  return text.slice(11, 23);
}
