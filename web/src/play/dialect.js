// ClickHouse's SQL for the editor. Names of functions and types come from the server, so that they are those that it has.

import { SQLDialect } from "@codemirror/lang-sql";

const KEYWORDS = `add after alias all alter and anti any array as asc ascending asof assume async attach backup between both by case
  cast check clear cluster codec collate column columns comment commit constraint create cross cube current database databases
  date day default deduplicate delete desc descending describe detach dictionaries dictionary disk distinct distributed drop else
  empty end engine ephemeral estimate except exchange exists explain expression extract false fetch fill filter final first flush
  following for format formatted freeze from full function functions global grant grantees granularity group grouping groups
  having hierarchical hour id identified if ilike in index infile injective inner insert interpolate intersect interval into
  inverse is join key kill last lateral layout leading left lifetime like limit live local logs materialize materialized max merges
  min minute modify month move mutation named natural no not null nulls offset on only optimize or order outer outfile over
  parallel partition paste permissive pipeline plan policy populate preceding prewhere primary privileges processlist profile
  projection qualify quarter query quota range recursive refresh reload remove rename replace reset restore restrictive revoke right
  role rollup row rows sample second select semi set sets settings show source start statistics stop substring sync syntax system
  table tables temporary test then ties timeout timestamp to top totals trailing tree trim true truncate ttl type unbounded undrop
  union unique update use user using uuid values view volume watch week when where window with year`;

/** The words that complete a statement in capitals. */
export const keywords = KEYWORDS.split(/\s+/).map((word) => word.toUpperCase());

/** A dialect with these names of functions and types. */
export function dialect(functions = [], types = []) {
  const words = (names) => names.map((name) => name.toLowerCase()).join(" ");
  return SQLDialect.define({
    keywords: KEYWORDS.replace(/\s+/g, " "),
    types: words(types),
    builtin: words(functions),
    backslashEscapes: true,
    hashComments: true,
    spaceAfterDashes: false,
    doubleQuotedStrings: false,
    charSetCasts: false,
    operatorChars: "*+-%<>!=&|^/~?:",
    specialVar: "",
    identifierQuotes: '`"',
  });
}
