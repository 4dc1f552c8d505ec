// Dark and light: as the system says, until the button says otherwise for this tab.

const KEY = "squall.theme";
const listeners = new Set();

/** Takes what was chosen in this tab. */
export function startTheme() {
  set(sessionStorage.getItem(KEY) ?? "");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => listeners.forEach((listener) => listener()));
}

/** Changes from dark to light and back. */
export function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  sessionStorage.setItem(KEY, theme);
  set(theme);
  listeners.forEach((listener) => listener());
}

/** Whether the page is dark now. */
export function isDark() {
  const chosen = document.documentElement.style.colorScheme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Calls when the colours have changed: canvases have to be drawn anew. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function set(theme) {
  document.documentElement.style.colorScheme = theme;
}

/** The value of one of the style's colours, for canvases. */
export function color(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** The colours of series, told apart by people who see few colours, too. */
export function palette() {
  return Array.from({ length: 10 }, (_, at) => color(`--series-${at}`));
}
