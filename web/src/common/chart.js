// uPlot with the page's colours.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { debounce } from "./dom.js";
import { short } from "./quantity.js";
import { color, onTheme, palette } from "./theme.js";

export const BARS = uPlot.paths.bars({ size: [0.7, 60], align: 0 });
const LINES = uPlot.paths.linear();

/**
 * A chart in an element, drawn anew when colours or sizes change. `data` are uPlot's columns, x first; `series` are names of the others
 * with what differs from a line; `options` go to uPlot.
 */
export function drawChart(element, { data, series, isTime = true, value = short, height, options = {}, onSelect }) {
  let chart = null;
  const draw = () => {
    chart?.destroy();
    element.replaceChildren();
    const colors = palette();
    const [line, text] = [color("--line"), color("--muted")];
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 5 }, font: "11px system-ui, sans-serif" };
    const { axes: [xAxis, yAxis] = [], ...others } = options;
    const size = sizeOf(element, height);
    chart = new uPlot(
      {
        ...size,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
        padding: [12, 22, 0, 0],
        scales: { x: { time: isTime }, ...others.scales },
        legend: { live: true, ...others.legend },
        cursor: { points: { size: 6 }, drag: { x: true, y: false }, ...others.cursor },
        hooks: { setSelect: onSelect ? [(plot) => onSelect(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"))] : [] },
        ...Object.fromEntries(Object.entries(others).filter(([name]) => !["scales", "legend", "cursor"].includes(name))),
        axes: [
          { ...axis, size: isTime ? 44 : 30, ...(isTime ? { values: TIMES } : {}), ...xAxis },
          { ...axis, size: 58, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : value(tick))), ...yAxis },
        ],
        series: [
          { value: (_, moment) => (moment === null ? "–" : isTime ? new Date(moment * 1000).toISOString().slice(0, 19).replace("T", " ") : short(moment)), ...others.x },
          ...series.map((one, at) => ({
            stroke: colors[at % colors.length],
            width: 1.6,
            paths: LINES,
            points: { show: data[0].length < 2, size: 5 },
            value: (_, number) => (number === null || number === undefined ? "–" : value(number)),
            ...one,
            label: one.label,
            ...(one.fill ? { fill: translucent(colors[at % colors.length]) } : {}),
          })),
        ],
      },
      data,
      element,
    );
  };
  draw();
  const resize = new ResizeObserver(debounce(30, () => chart?.setSize(sizeOf(element, height))));
  resize.observe(element);
  const stop = onTheme(draw);
  return {
    setData: (next) => chart.setData(next),
    destroy() {
      resize.disconnect();
      stop();
      chart?.destroy();
      chart = null;
      element.replaceChildren();
    },
  };
}

/** Moments on an axis: days where days change, seconds only where they matter. */
const TIMES = [
  [86400 * 365, "{YYYY}", null, null, null, null, null, null, 1],
  [86400 * 28, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [86400, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
  [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
  [0.001, "{ss}.{fff}", "\n{HH}:{mm}", null, null, null, "\n{HH}:{mm}", null, 1],
];

function sizeOf(element, height) {
  // The legend stands below the chart.
  return { width: Math.max(element.clientWidth, 120), height: height ?? Math.max(element.clientHeight - 40, 120) };
}

function translucent(rgb) {
  return rgb.replace(/^rgb\((.*)\)$/, "rgba($1, 0.14)");
}
