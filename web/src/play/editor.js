// The editor: CodeMirror with ClickHouse's dialect, in a shadow root. There it may have styles of its own making, which the page's
// policy forbids elsewhere.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, toggleComment } from "@codemirror/commands";
import { sql } from "@codemirror/lang-sql";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, drawSelection, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { h } from "../common/dom.js";
import { dialect } from "./dialect.js";
import { statementAt, statements } from "./statements.js";

const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "550" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.standard(tags.name), color: "var(--code-function)" },
  { tag: tags.typeName, color: "var(--code-type)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13.5px", color: "var(--text)", backgroundColor: "var(--panel)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--accent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", border: "0", opacity: "0.75" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 10px 0 14px", minWidth: "36px" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-line": { padding: "0 8px", borderLeft: "2px solid transparent" },
  ".cm-line.cm-current": { borderLeftColor: "color-mix(in srgb, var(--accent) 55%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selected)" },
  ".cm-selectionMatch": { backgroundColor: "color-mix(in srgb, var(--wait) 22%, transparent)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selected)", outline: "none" },
  ".cm-tooltip": { border: "1px solid var(--line)", borderRadius: "6px", backgroundColor: "var(--raised)", color: "var(--text)", boxShadow: "0 6px 24px #0003" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "13px", maxHeight: "16em" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--selected)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "1.5em" },
  ".cm-completionMatchedText": { textDecoration: "none", color: "var(--accent)" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif", padding: "6px 10px", maxWidth: "60em" },
  ".cm-panels": { backgroundColor: "var(--bg)", color: "var(--text)" },
  ".cm-placeholder": { color: "var(--muted)" },
});

/** Marks the lines of the statement that would be run. */
const currentStatement = ViewPlugin.fromClass(
  class {
    constructor(view) {
      this.decorations = this.mark(view.state);
    }

    update(update) {
      if (update.docChanged || update.selectionSet) this.decorations = this.mark(update.state);
    }

    mark(state) {
      const text = state.doc.toString();
      const current = statementAt(text, state.selection.main.head);
      if (!current || statements(text).length < 2) return Decoration.none;
      const marks = [];
      const last = state.doc.lineAt(current.to).number;
      for (let at = state.doc.lineAt(current.from).number; at <= last; at += 1) {
        marks.push(Decoration.line({ class: "cm-current" }).range(state.doc.line(at).from));
      }
      return Decoration.set(marks);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

/** An editor. `run`, `runAll` and `cancel` are called by keys, `changed` with the text, `complete` is a source of completions. */
export function makeEditor({ text, run, runAll, cancel, changed, complete }) {
  const element = h("div", { class: "editor" });
  const root = element.attachShadow({ mode: "open" });
  const language = new Compartment();
  const languageOf = (words) => {
    const support = sql({ dialect: words });
    // The language's own completions know no server.
    return [support.language];
  };
  const own = [
    { key: "Mod-Enter", run: () => (run(), true) },
    { key: "Mod-Shift-Enter", run: () => (runAll(), true) },
    { key: "Mod-/", run: toggleComment },
    { key: "Escape", run: () => cancel() },
  ];
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.high(keymap.of(own)),
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [complete], icons: false, maxRenderedOptions: 60 }),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        language.of(languageOf(dialect())),
        syntaxHighlighting(highlighting),
        look,
        currentStatement,
        placeholder("SELECT …"),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Query" }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...lintKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    element,
    text: () => view.state.doc.toString(),
    focus: () => view.focus(),
    /** What is to be run: what is selected, or the statement at the cursor. */
    toRun() {
      const { from, to, empty } = view.state.selection.main;
      if (!empty && view.state.sliceDoc(from, to).trim()) {
        return statements(view.state.sliceDoc(from, to)).map((one) => ({ ...one, from: one.from + from, to: one.to + from }));
      }
      const one = statementAt(view.state.doc.toString(), from);
      return one ? [one] : [];
    },
    all: () => statements(view.state.doc.toString()),
    /** Puts another text in the place of all. */
    setText(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: next.length } });
      view.focus();
    },
    /** Puts text at the cursor. */
    insert(more) {
      view.dispatch(view.state.replaceSelection(more));
      view.focus();
    },
    /** Marks where an error is; none takes the mark away. */
    markError(error) {
      const diagnostics = error ? [{ ...error, severity: "error" }] : [];
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    setNames: (functions, types) => view.dispatch({ effects: language.reconfigure(languageOf(dialect(functions, types))) }),
  };
}
