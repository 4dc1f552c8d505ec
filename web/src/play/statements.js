// Finding statements in a text, and the parameters of one, without understanding more of SQL than where strings and comments end.

/** What stands at a place and is not code: strings, names in quotes, comments. Sticky, tried in this order. */
const SKIPPED = /'(?:[^'\\]|\\[^]|'')*'?|"(?:[^"\\]|\\[^])*"?|`(?:[^`\\]|\\[^])*`?|--[^\n]*|#[ !][^\n]*|\/\*[^]*?(?:\*\/|$)|\$(\w*)\$[^]*?(?:\$\1\$|$)/y;
const COMMENT = /^(?:--|#|\/\*)/;
/** An INSERT whose data follow in a format of their own, to the end of the text. */
const INLINE_DATA = /^\s*INSERT\s+INTO\s[^;]*?\sFORMAT\s+(?!VALUES\b)\w+[^\S\n]*\n/i;

/** The statements of a text: where they begin and end, and their text without what stands around it. */
export function statements(text) {
  const found = [];
  let from = 0;
  let hasCode = false;
  const end = (at) => {
    if (hasCode) {
      const whole = text.slice(from, at);
      const begin = from + (whole.length - whole.trimStart().length);
      found.push({ from: begin, to: begin + whole.trim().length, text: whole.trim() });
    }
    from = at + 1;
    hasCode = false;
  };
  for (let at = 0; at < text.length; ) {
    if (!hasCode && INLINE_DATA.test(text.slice(at, at + 2000)) && !/\s/.test(text[at])) {
      hasCode = true;
      end(text.length);
      return found;
    }
    const skipped = skip(text, at);
    if (skipped) {
      hasCode ||= !COMMENT.test(skipped);
      at += skipped.length;
    } else {
      if (text[at] === ";") end(at);
      else if (!/\s/.test(text[at])) hasCode = true;
      at += 1;
    }
  }
  end(text.length);
  return found;
}

/** The statement that a place is in, or behind which it stands. */
export function statementAt(text, place) {
  const all = statements(text);
  return all.find(({ from, to }) => from <= place && place <= to) ?? all.findLast(({ to }) => to < place) ?? all[0];
}

/** The parameters `{name:Type}` of a statement, each once. */
export function parametersOf(text) {
  const found = new Map();
  for (let at = 0; at < text.length; ) {
    const skipped = skip(text, at);
    if (skipped) {
      at += skipped.length;
      continue;
    }
    const parameter = /\{\s*([A-Za-z_]\w*)\s*:\s*([^{}]+?)\s*\}/y;
    parameter.lastIndex = at;
    const match = parameter.exec(text);
    if (match) found.set(match[1], match[2]);
    at += match ? match[0].length : 1;
  }
  return [...found].map(([name, type]) => ({ name, type }));
}

function skip(text, at) {
  SKIPPED.lastIndex = at;
  return SKIPPED.exec(text)?.[0];
}
