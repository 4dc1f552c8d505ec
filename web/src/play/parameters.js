// A field for each parameter `{name:Type}` of the query.

import { fill, h } from "../common/dom.js";
import { parametersOf } from "./statements.js";

/** The fields. Values stay while the query is being written, also those of parameters that are gone for the moment. */
export function makeParameters(values = {}, run) {
  const element = h("div", { class: "parameters", hidden: true });
  let shown = "";
  return {
    element,
    values,
    /** Shows fields for a text. */
    show(text) {
      const found = parametersOf(text);
      const key = JSON.stringify(found);
      if (key === shown) return;
      shown = key;
      element.hidden = found.length === 0;
      const field = ({ name, type }) => {
        const input = h("input", {
          value: values[name] ?? "",
          placeholder: type,
          title: `${name}: ${type}`,
          "data-parameter": name,
          spellcheck: false,
          oninput: () => (values[name] = input.value),
          onkeydown: (event) => event.key === "Enter" && run(),
        });
        return h("label", null, h("span", { class: "mono" }, name), input);
      };
      fill(element, found.map(field));
    },
    /** The values that a statement needs. */
    of: (text) => Object.fromEntries(parametersOf(text).map(({ name }) => [name, values[name] ?? ""])),
  };
}
