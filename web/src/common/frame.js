// What all pages share: the bar at the top with the three pages, the server's name and version, the user and the theme.

import "./style.css";
import { h } from "./dom.js";
import { changeUser, rows, userName } from "./server.js";
import { isDark, onTheme, startTheme, toggleTheme } from "./theme.js";

const PAGES = [
  ["/play", "Play"],
  ["/dashboard", "Dashboard"],
  ["/scheduler", "Scheduler"],
];

/** Puts the bar on the page, and its content below. `onUser` is called when another user has come. */
export function frame(content, { onUser } = {}) {
  startTheme();
  const server = h("span", { class: "muted server" });
  const user = h("button", { class: "quiet user", title: "Change the user", onclick: change });
  const theme = h("button", { class: "quiet icon", onclick: toggleTheme });
  const showTheme = () => {
    theme.textContent = isDark() ? "☀" : "☾";
    theme.title = isDark() ? "Light colours" : "Dark colours";
    theme.setAttribute("aria-label", theme.title);
  };
  const showUser = () => (user.textContent = userName() || "default");
  async function change() {
    if (await changeUser()) {
      showUser();
      await showServer();
      onUser?.();
    }
  }
  async function showServer() {
    try {
      const [found] = await rows("SELECT hostName() AS host, version() AS version");
      server.textContent = `${found.host} · ${found.version}`;
      showUser();
    } catch (error) {
      server.textContent = error.sentence ?? error.message;
    }
  }
  showTheme();
  showUser();
  onTheme(showTheme);
  const link = ([path, name]) => h("a", { href: path, "aria-current": location.pathname === path ? "page" : undefined }, name);
  const bar = h(
    "header",
    { class: "bar" },
    h("span", { class: "brand" }, mark(), "Squall"),
    h("nav", null, PAGES.map(link)),
    h("span", { class: "grow" }),
    server,
    user,
    theme,
  );
  document.body.replaceChildren(bar, content);
  showServer();
}

function mark() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M2 11.5h8M2 8h12M5 4.5h8");
  svg.append(path);
  return svg;
}
