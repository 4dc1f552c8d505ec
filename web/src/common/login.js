// The dialog that asks who one is.

import { h } from "./dom.js";

/** Gives a user and a password, or `null` where none is given. */
export function askForPassword(user, why) {
  const name = h("input", { name: "user", value: user, autocomplete: "username", placeholder: "default", spellcheck: false });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password" });
  const form = h(
    "form",
    { method: "dialog", class: "login" },
    h("h2", null, "Sign in"),
    why && h("p", { class: "error" }, why),
    h("label", null, "User", name),
    h("label", null, "Password", password),
    h("p", { class: "muted small" }, "The password stays in this tab and is forgotten when you close or reload it."),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", class: "quiet", onclick: () => dialog.close("cancel") }, "Cancel"),
      h("button", { class: "primary", value: "ok" }, "Sign in"),
    ),
  );
  const dialog = h("dialog", { class: "card" }, form);
  document.body.append(dialog);
  dialog.showModal();
  (user ? password : name).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "ok" ? { user: name.value.trim(), password: password.value } : null);
    });
  });
}
