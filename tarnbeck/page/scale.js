// From values to pixels: ranges that look right, and where ticks belong.

/** Round steps of a range of numbers, about `wanted` of them, each with as many digits as tell it from the next. */
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0) || !Number.isFinite(rough)) return [[low, String(low)]];
  const power = 10 ** Math.floor(Math.log10(rough));
  const times = [1, 2, 2.5, 5, 10].find((n) => n * power >= rough), step = times * power;
  const places = Math.max(0, (times === 2.5 ? 1 : 0) - Math.floor(Math.log10(step) + 1e-9));
  const text = places > 9 || high >= 1e15 ? (value) => value.toExponential(2) : new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places }).format;
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n++) found.push([n * step, text(n * step)]);
  return found;
}

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [1, 2, 5, 10, 15, 30].map((n) => n * SECOND)
  .concat([1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), [1, 2, 3, 6, 12].map((n) => n * HOUR), [1, 2, 5, 10, 15, 30, 90, 180, 365].map((n) => n * DAY));

/** Round moments of a range of times, each with its text (UTC). */
export function moments(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  const step = STEPS.find((each) => each >= rough) ?? Math.ceil(rough / (365 * DAY)) * 365 * DAY;
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high && found.length < 100; at += step) {
    const text = new Date(at).toISOString();
    found.push([at, step >= DAY ? text.slice(0, 10) : step >= MINUTE ? (at % DAY ? text.slice(11, 16) : text.slice(5, 10)) : text.slice(11, 19)]);
  }
  return found;
}

/** The first place in a sorted list whose value is not below the wanted one. */
export function place(sorted, wanted) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Lowest and highest value between two places. */
export function extent(values, from, to, known = [Infinity, -Infinity]) {
  let [low, high] = known;
  for (let i = from; i < to; i++) {
    const value = values[i];
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}
