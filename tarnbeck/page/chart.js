// A chart of windows over time on two canvases: one for the data, one for what the pointer or the keyboard points at.
import { h, perFrame, put } from "./dom.js";
import { extent, moments, place, ticks } from "./scale.js";
import { moment, number } from "./text.js";

const TOP = 10, BOTTOM = 24, RIGHT = 74, LEFT = 6;
const DRAWERS = { line, candle, bar };

/**
 * `series` are { name, colour, times, values } sorted by time, with { open, high, low, close } for candles; times are
 * milliseconds. `speed` are [from, to] of windows that the speed layer has added to. `span` is a window's length.
 */
export class Chart {
  constructor(chosen) {
    this.back = h("canvas", { tabindex: "0", role: "img", "aria-label": "chart, empty" });
    this.front = h("canvas", { class: "front", "aria-hidden": "true" });
    this.tip = h("div", { class: "tip", hidden: true });
    this.spoken = h("div", { class: "spoken", role: "status" });
    this.element = h("div", { class: "chart" }, this.back, this.front, this.tip, this.spoken);
    this.data = { kind: "line", series: [], speed: [], span: 0 };
    this.at = null;
    this.drag = null;
    this.chosen = chosen;
    this.redraw = perFrame(() => this.draw());
    new ResizeObserver(() => this.redraw()).observe(this.element);
    this.element.addEventListener("pointermove", (event) => this.point(event));
    this.element.addEventListener("pointerleave", () => this.leave());
    this.element.addEventListener("pointerdown", (event) => { this.drag = this.timeAt(event.offsetX); });
    this.element.addEventListener("pointerup", (event) => this.drop(event));
    this.back.addEventListener("keydown", (event) => this.key(event));
  }

  show(data) {
    this.data = data;
    this.redraw();
  }

  draw() {
    const { width, height } = this.element.getBoundingClientRect();
    if (!width || !height) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.back, this.front]) {
      if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
    }
    const ink = this.back.getContext("2d");
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, width, height);
    this.frame = this.framed(width, height);
    if (!this.frame) {
      this.back.setAttribute("aria-label", "chart, no data yet");
      ink.fillStyle = colour("quiet");
      ink.font = "14px system-ui";
      ink.fillText("no windows in this range", 16, 32);
      return;
    }
    const { x, y, low, high, from, to } = this.frame;
    ink.fillStyle = colour("speed");
    for (const [start, end] of this.data.speed) {
      const left = Math.max(LEFT, x(start)), right = Math.min(width - RIGHT, x(end));
      if (right > left) ink.fillRect(left, TOP, Math.max(1, right - left), height - TOP - BOTTOM);
    }
    ink.font = "11px system-ui";
    ink.lineWidth = 1;
    for (const [value, text] of ticks(low, high, (height - TOP - BOTTOM) / 48)) {
      ink.strokeStyle = colour("grid");
      ink.beginPath();
      ink.moveTo(LEFT, Math.round(y(value)) + 0.5);
      ink.lineTo(width - RIGHT, Math.round(y(value)) + 0.5);
      ink.stroke();
      ink.fillStyle = colour("quiet");
      ink.fillText(text, width - RIGHT + 6, y(value) + 4);
    }
    for (const [at, text] of moments(from, to, (width - RIGHT) / 90)) {
      ink.fillStyle = colour("quiet");
      ink.fillText(text, Math.max(LEFT, Math.min(x(at) - 14, width - RIGHT - 30)), height - 7);
    }
    ink.save();
    ink.beginPath();
    ink.rect(LEFT, TOP - 4, width - RIGHT - LEFT, height - TOP - BOTTOM + 8);
    ink.clip();
    const drawn = this.data.series.length;
    this.data.series.forEach((series, i) => DRAWERS[this.data.kind](ink, this.frame, series, colour, i, drawn));
    ink.restore();
    this.back.setAttribute("aria-label", this.told());
    this.pointed();
  }

  framed(width, height) {
    const { series, kind, span, range } = this.data;
    const filled = series.filter((each) => each.times.length);
    if (!filled.length) return null;
    let from = range?.[0] ?? Math.min(...filled.map((each) => each.times[0]));
    let to = range?.[1] ?? Math.max(...filled.map((each) => each.times[each.times.length - 1] + span));
    if (to <= from) [from, to] = [from - 500, to + 500];
    let bounds = kind === "bar" ? [0, 0] : [Infinity, -Infinity];
    for (const each of filled) {
      const first = Math.max(0, place(each.times, from) - 1), last = Math.min(each.times.length, place(each.times, to) + 1);
      for (const values of kind === "candle" ? [each.high, each.low] : [each.values]) bounds = extent(values, first, last, bounds);
    }
    let [low, high] = bounds;
    if (!(high >= low)) return null;
    const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    [low, high] = [kind === "bar" && low === 0 ? 0 : low - room, high + room];
    const wide = width - LEFT - RIGHT, tall = height - TOP - BOTTOM;
    return {
      from, to, low, high, width, height, span,
      x: (at) => LEFT + ((at - from) / (to - from)) * wide,
      y: (value) => TOP + (1 - (value - low) / (high - low)) * tall,
    };
  }

  told() {
    const parts = this.data.series.slice(0, 8).map((each) => {
      const last = each.times.length - 1;
      const value = this.data.kind === "candle" ? each.close[last] : each.values[last];
      return `${each.name}: newest ${number(value)} at ${moment(each.times[last])}, ${each.times.length} windows`;
    });
    return `${this.data.kind} chart. ${parts.join(". ")}. Arrow keys go through the windows.`;
  }

  timeAt(pixel) {
    const frame = this.frame;
    return frame ? frame.from + ((pixel - LEFT) / (frame.width - LEFT - RIGHT)) * (frame.to - frame.from) : null;
  }

  point(event) {
    this.at = this.timeAt(event.offsetX);
    this.over = true;
    this.pointed();
  }

  leave() {
    this.over = false;
    this.drag = null;
    if (document.activeElement !== this.back) this.at = null;
    this.pointed();
  }

  drop(event) {
    const from = this.drag, to = this.timeAt(event.offsetX);
    this.drag = null;
    if (from !== null && to !== null && Math.abs(this.frame.x(from) - this.frame.x(to)) > 8) this.chosen(Math.min(from, to), Math.max(from, to));
    this.pointed();
  }

  key(event) {
    const longest = this.data.series.reduce((best, each) => (each.times.length > (best?.times.length ?? 0) ? each : best), null);
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (!longest || !(event.key in steps)) return;
    event.preventDefault();
    const last = longest.times.length - 1;
    const now = this.at === null ? last : Math.min(last, place(longest.times, this.at));
    this.at = longest.times[Math.max(0, Math.min(last, now + steps[event.key]))];
    this.over = true;
    this.pointed();
    // Told when somebody goes there, not whenever the data under a resting pointer changes.
    put(this.spoken, this.tip.textContent);
  }

  pointed() {
    const ink = this.front.getContext("2d"), frame = this.frame, ratio = window.devicePixelRatio || 1;
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, this.front.width, this.front.height);
    if (!frame || this.at === null || !this.over) {
      this.tip.hidden = true;
      return;
    }
    const style = getComputedStyle(document.documentElement);
    const rows = [];
    let start = null;
    for (const each of this.data.series) {
      const i = nearest(each.times, this.at, frame.span);
      if (i === null) continue;
      start ??= each.times[i];
      rows.push(h("div", {}, swatch(each.colour), `${each.name} `, h("b", {}, this.data.kind === "candle"
        ? `${number(each.open[i], 8)} → ${number(each.close[i], 8)} (${number(each.low[i], 8)} to ${number(each.high[i], 8)})`
        : number(each.values[i], 10))));
    }
    ink.strokeStyle = style.getPropertyValue("--quiet").trim();
    const at = Math.round(frame.x(start ?? this.at)) + 0.5;
    ink.beginPath();
    ink.moveTo(at, TOP);
    ink.lineTo(at, frame.height - BOTTOM);
    ink.stroke();
    if (this.drag !== null && Math.abs(frame.x(this.drag) - at) > 8) {
      ink.fillStyle = style.getPropertyValue("--mark").trim();
      ink.fillRect(frame.x(this.drag), TOP, at - frame.x(this.drag), frame.height - TOP - BOTTOM);
    }
    this.tip.hidden = start === null;
    if (start === null) return;
    put(this.tip, h("div", { class: "quiet" }, `${moment(start)} UTC`), rows.slice(0, 14));
    const left = at + 14 + 240 > frame.width ? at - 14 - this.tip.offsetWidth : at + 14;
    this.tip.style.transform = `translate(${Math.max(0, left)}px, ${TOP + 6}px)`;
  }

  picture() {
    return pictureOf(this.back);
  }
}

export const pictureOf = (canvas) => new Promise((done) => canvas.toBlob(done, "image/png"));

export function swatch(colour) {
  const element = h("i", { class: "swatch" });
  element.style.background = colour;
  return element;
}

function nearest(times, at, span) {
  if (!times.length) return null;
  const after = Math.min(times.length - 1, place(times, at));
  const before = Math.max(0, after - 1);
  const i = times[after] <= at || Math.abs(times[after] - at) < Math.abs(times[before] - at) ? after : before;
  return i >= 0 && Math.abs(times[i] - at) <= Math.max(span * 1.5, 1) ? i : times.length < 50 ? i : null;
}

function visible(frame, times) {
  return [Math.max(0, place(times, frame.from - frame.span) - 1), Math.min(times.length, place(times, frame.to) + 1)];
}

/** A line; where many points fall on one pixel, its lowest and highest are drawn, which looks the same. */
function line(ink, frame, series, colour) {
  const { x, y, span } = frame;
  const [first, last] = visible(frame, series.times);
  const middle = span / 2;
  ink.strokeStyle = series.colour;
  ink.lineWidth = 1.6;
  ink.lineJoin = "round";
  ink.beginPath();
  let pixel = -Infinity, low = 0, high = 0, end = 0, open = false;
  const close = () => {
    if (!open) return;
    ink.lineTo(pixel, y(low));
    if (high !== low) ink.lineTo(pixel, y(high));
    ink.lineTo(pixel, y(end));
  };
  for (let i = first; i < last; i++) {
    const value = series.values[i];
    if (Number.isNaN(value)) continue;
    const at = x(series.times[i] + middle);
    if (at - pixel < 0.7 && open) {
      if (value < low) low = value;
      if (value > high) high = value;
      end = value;
      continue;
    }
    if (!open) ink.moveTo(at, y(value));
    close();
    [pixel, low, high, end, open] = [at, value, value, value, true];
  }
  close();
  ink.stroke();
  if (last - first < 40) {
    ink.fillStyle = series.colour;
    for (let i = first; i < last; i++) {
      if (Number.isNaN(series.values[i])) continue;
      ink.beginPath();
      ink.arc(x(series.times[i] + middle), y(series.values[i]), 2.4, 0, 7);
      ink.fill();
    }
  }
}

function candle(ink, frame, series, colour) {
  const { x, y, span } = frame;
  const [first, last] = visible(frame, series.times);
  const wide = Math.max(1, (x(frame.from + span) - x(frame.from)) * 0.7);
  const up = colour("up"), down = colour("down");
  for (let i = first; i < last; i++) {
    const middle = x(series.times[i] + span / 2), rises = series.close[i] >= series.open[i];
    ink.fillStyle = rises ? up : down;
    ink.fillRect(middle - 0.5, y(series.high[i]), 1, Math.max(1, y(series.low[i]) - y(series.high[i])));
    const top = y(Math.max(series.open[i], series.close[i]));
    ink.fillRect(middle - wide / 2, top, wide, Math.max(1, Math.abs(y(series.open[i]) - y(series.close[i]))));
  }
}

function bar(ink, frame, series, colour, place_, of) {
  const { x, y, span } = frame;
  const [first, last] = visible(frame, series.times);
  const wide = Math.max(1, ((x(frame.from + span) - x(frame.from)) * 0.86) / of);
  ink.fillStyle = series.colour;
  const zero = y(Math.max(frame.low, 0));
  for (let i = first; i < last; i++) {
    const left = x(series.times[i]) + (x(frame.from + span) - x(frame.from)) * 0.07 + wide * place_;
    ink.fillRect(left, Math.min(zero, y(series.values[i])), wide, Math.max(1, Math.abs(zero - y(series.values[i]))));
  }
}
