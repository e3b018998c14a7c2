// Pictures that are not lines over time: a map of heat, and a list of the greatest.
import { pictureOf } from "./chart.js";
import { h } from "./dom.js";
import { extent, moments } from "./scale.js";
import { moment, number } from "./text.js";

const ROW = 22, LABEL = 130, MOST = 30;
const valueOf = (row, column) => (row[column] === null || row[column] === undefined ? NaN : Number(row[column]));

/** Keys down, windows across, a value as a shade; one canvas is drawn anew each time, so that nothing flickers. */
export class Heat {
  constructor() {
    this.canvas = h("canvas", { class: "heat", role: "img" });
  }

  picture() {
    return pictureOf(this.canvas);
  }

  show(rows, named, column) {
    const all = [...new Set(rows.map(named))].sort(), keys = all.slice(0, MOST);
    const times = [...new Set(rows.map((row) => Date.parse(row.start)))].sort((a, b) => a - b);
    const [low, high] = extent(rows.map((row) => valueOf(row, column)), 0, rows.length, [0, -Infinity]);
    this.canvas.setAttribute("aria-label", `heat map of ${column}: ${keys.length} of ${all.length} keys, ${times.length} windows, from ${number(low)} to ${number(high)}`);
    const ratio = devicePixelRatio || 1, wide = this.canvas.clientWidth, tall = keys.length * ROW + 24;
    this.canvas.style.height = `${tall}px`;
    this.canvas.width = wide * ratio;
    this.canvas.height = tall * ratio;
    const ink = this.canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const [text, base] = [style.getPropertyValue("--text"), style.getPropertyValue("--series-0").trim()];
    ink.scale(ratio, ratio);
    ink.font = "12px system-ui";
    ink.fillStyle = text;
    keys.forEach((key, i) => ink.fillText(key.slice(0, 20), 0, i * ROW + 15));
    const first = times[0], last = times[times.length - 1];
    const cell = Math.max(1, (wide - LABEL) / Math.max(1, times.length));
    const x = (at) => LABEL + ((wide - LABEL - cell) * (at - first)) / Math.max(1, last - first);
    const line = new Map(keys.map((key, i) => [key, i]));
    ink.fillStyle = base;
    for (const row of rows) {
      const i = line.get(named(row)), value = valueOf(row, column);
      if (i === undefined || !Number.isFinite(value)) continue;
      ink.globalAlpha = 0.06 + 0.94 * ((value - low) / (high - low || 1));
      ink.fillRect(x(Date.parse(row.start)), i * ROW + 1, Math.ceil(cell), ROW - 2);
    }
    ink.globalAlpha = 1;
    ink.fillStyle = text;
    for (const [at, words] of moments(first, last, (wide - LABEL) / 90)) ink.fillText(words, x(at), tall - 6);
    return all.length > MOST ? `the first ${MOST} of ${all.length} keys` : "";
  }
}

/** The greatest values of the newest window of each key. */
export function topList(rows, named, column, colour) {
  const newest = new Map();
  for (const row of rows) newest.set(named(row), row);
  const found = [...newest].map(([name, row]) => [name, valueOf(row, column), row]).filter(([, value]) => !Number.isNaN(value)).sort((a, b) => b[1] - a[1]);
  const most = found.reduce((all, [, value]) => Math.max(all, Math.abs(value)), 0) || 1;
  const when = found[0]?.[2].start ? `newest window of each, from ${moment(found[0][2].start)}` : "over all time";
  return h("div", {}, h("p", { class: "quiet" }, `${column}, ${when}${found.length > MOST ? `; the first ${MOST} of ${found.length}` : ""}`),
    h("div", { class: "top", role: "list" }, found.slice(0, MOST).map(([name, value]) => {
      const fill = h("div", { class: "fill" });
      fill.style.width = `${(100 * Math.abs(value)) / most}%`;
      fill.style.background = colour;
      return h("div", { role: "listitem", class: "row" }, h("div", {}, name), fill, h("div", { class: "value" }, number(value, 10)));
    })));
}
