// What a view is asked: read from the page's address, so that a link shows the same to others.
import { isNumber, length } from "./text.js";

export const RANGES = [["1m", "1 minute"], ["5m", "5 minutes"], ["15m", "15 minutes"], ["1h", "1 hour"], ["6h", "6 hours"], ["1d", "1 day"], ["7d", "7 days"], ["30d", "30 days"], ["", "all time"]];
export const CHARTS = [["line", "line"], ["candle", "candles"], ["bar", "bars"], ["heat", "heat map"], ["top", "top list"], ["table", "table"]];
const POINTS = 900;
export const LIVE_ROWS = 10000;
const CANDLE = [["open", "first"], ["high", "max"], ["low", "min"], ["close", "last"]];
/** A chart that follows its question: one that has all rows, or two ranges, or a moment of the past, does not change. */
export const follows = (asked) => asked.limit === LIVE_ROWS && !asked.against && !asked.as_of;

/** A question out of the parameters of an address, with what fits the view where nothing is said. */
export function read(view, given) {
  const keys = {};
  for (const { name } of view.keys) if (given.getAll(`key.${name}`).length) keys[name] = given.getAll(`key.${name}`);
  const windowed = view.levels[0] !== "all";
  const range = given.get("since") || given.get("until") ? "" : windowed ? given.get("last") ?? "15m" : "";
  const asked = {
    view: view.view, keys, last: range, since: given.get("since") ?? "", until: given.get("until") ?? "",
    per: view.levels.includes(given.get("per")) ? given.get("per") : fitting(view.levels, given.get("since") && given.get("until") ? (Date.parse(given.get("until")) - Date.parse(given.get("since"))) / 1000 : length(range)),
    chart: given.get("chart") ?? usual(view), column: given.get("column") ?? usualColumn(view),
    live: given.get("live") !== "off", layers: given.get("layers") === "on", limit: Number(given.get("limit")) || LIVE_ROWS,
    against: given.get("against") ?? "", as_of: given.get("as_of") ?? "", hide: given.getAll("hide"),
  };
  return asked;
}

/** The address of a question; what is usual is left out. */
export function address(asked) {
  const told = new URLSearchParams();
  for (const [name, values] of Object.entries(asked.keys)) for (const value of values) told.append(`key.${name}`, value);
  for (const name of ["last", "since", "until", "per", "chart", "column", "against", "as_of"]) if (asked[name] || name === "last") told.set(name, asked[name]);
  if (!asked.live) told.set("live", "off");
  if (asked.layers) told.set("layers", "on");
  if (asked.limit !== LIVE_ROWS) told.set("limit", asked.limit);
  for (const name of asked.hide) told.append("hide", name);
  return `#/view/${encodeURIComponent(asked.view)}?${told}`;
}

/** The parameters of the API for it. */
export function parameters(view, asked) {
  const told = new URLSearchParams();
  for (const [name, values] of Object.entries(asked.keys)) for (const value of values) told.append(`key.${name}`, value);
  if (asked.since) told.set("since", asked.since);
  if (asked.until) told.set("until", asked.until);
  if (!asked.since && !asked.until && asked.last) told.set("last", asked.last);
  if (view.levels.length > 1) told.set("per", asked.per);
  if (asked.against) told.set("against", asked.against);
  if (asked.as_of) told.set("as_of", asked.as_of);
  if (asked.limit !== LIVE_ROWS) told.set("limit", asked.limit);
  return told;
}

/** The finest level of which a range has no more windows than a chart can show. */
function fitting(levels, wanted) {
  if (!(wanted > 0)) return levels[Math.min(levels.length - 1, levels.length > 2 ? 2 : 0)];
  return levels.find((level) => wanted / (length(level) ?? Infinity) <= POINTS) ?? levels[levels.length - 1];
}

/** The outputs that make a candle: first, greatest, least and last value, told by their names or by what they are. */
export function candle(view) {
  const outputs = view.outputs.filter((each) => isNumber(each.type));
  const found = CANDLE.map(([name, aggregate]) => {
    const made = outputs.filter((each) => each.aggregate === aggregate);
    return outputs.find((each) => each.name === name || each.name === aggregate) ?? (made.length === 1 ? made[0] : null);
  });
  return found.every(Boolean) && new Set(found).size === 4 ? found.map((each) => each.name) : null;
}

const numbers = (view) => view.outputs.filter((each) => isNumber(each.type)).map((each) => each.name);
const usualColumn = (view) => (candle(view) ? candle(view)[3] : numbers(view)[0] ?? view.outputs[0]?.name ?? "");

function usual(view) {
  if (!numbers(view).length) return "table";
  if (view.levels[0] === "all") return view.keys.length ? "top" : "table";
  return candle(view) ? "candle" : "line";
}
