// /scheduler: what the workers do, query by query: now, and in the past by the logs.

import "./scheduler.css";
import { h } from "../common/dom.js";
import { frame } from "../common/frame.js";
import { makeLive } from "./live.js";
import { makeReplay } from "./replay.js";

const views = { live: makeLive(), replay: makeReplay() };
const names = { live: "Live", replay: "Replay" };
const tabs = h("div", { class: "segments", role: "group", "aria-label": "View" }, Object.entries(names).map(([key, name]) => h("button", { "data-view": key, onclick: () => show(key) }, name)));
const main = h("main", { class: "scheduler" }, h("div", { class: "head" }, tabs, h("span", { class: "muted small" }, "Each lane is a query, each colour a worker.")));
let current = null;
frame(main, { onUser: () => show(current) });
show(location.hash.startsWith("#replay") ? "replay" : "live");

function show(next) {
  if (current) {
    views[current].end();
    views[current].element.remove();
  }
  current = next;
  for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.view === next));
  main.append(views[next].element);
  if (next === "live") history.replaceState(null, "", "#live");
  views[next].start();
}

// Somebody goes back, or pastes another address.
addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#replay")) return;
  views.replay.readAddress();
  show("replay");
});

addEventListener("keydown", (event) => {
  if (event.key !== " " || current !== "live" || event.target.closest("button, input, select, textarea, dialog")) return;
  event.preventDefault();
  views.live.toggle();
});
