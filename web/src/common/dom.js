// Making and finding elements.

/**
 * Makes an element: `h("button", { class: "quiet", onclick }, "Run")`. What begins with `on` listens, `class` and `data-…` are
 * attributes, everything else is set as a property. Children may be nested; `null` and `false` are left out.
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...shown(children));
  return element;
}

/** Replaces an element's children. */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
  return element;
}

function shown(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

/** What the keyboard's command key is called here. */
export const MOD = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘" : "Ctrl+";

/** Calls `work` once calls have ceased for so long. */
export function debounce(milliseconds, work) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), milliseconds);
  };
}
