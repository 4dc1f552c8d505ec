// Numbers as people read them.

const LARGE = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** `1234567` is `1.23 M`. */
export function short(number) {
  if (number === null || number === undefined || Number.isNaN(number)) return "–";
  const size = Math.abs(number);
  for (const [unit, letter] of LARGE) if (size >= unit) return `${digits(number / unit)} ${letter}`;
  return digits(number);
}

/** `1234567` is `1,234,567`. */
export function whole(number) {
  return Number(number).toLocaleString("en-US");
}

/** Bytes in powers of 1024. */
export function bytes(number) {
  let size = Math.abs(number);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (size < 1024) return `${digits(size)} ${unit}`;
    size /= 1024;
  }
  return `${digits(size)} TiB`;
}

/** Seconds, from microseconds to hours. */
export function duration(seconds) {
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (seconds < 1) return `${digits(seconds * 1e3)} ms`;
  if (seconds < 120) return `${digits(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${digits(seconds / 3600)} h`;
}

/** The same in the plural where it is not one: `count(2, "row")`. */
export function count(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

function digits(number) {
  const size = Math.abs(number);
  return size >= 100 || Number.isInteger(number) ? String(Math.round(number)) : number.toPrecision(3).replace(/\.?0+$/, "");
}
