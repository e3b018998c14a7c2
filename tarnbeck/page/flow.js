// How data flows through the app, drawn from its own plan: streams, log, lake, speed and batch layers, views.
import { get } from "./api.js";
import { h, put, s } from "./dom.js";
import { count, rate, seconds } from "./text.js";

const WIDE = 210, TALL = 104, GAP = 22, BETWEEN = 96;

export async function flow(main, { system, leaving }) {
  await get("/flow"); // where no node runs there is nothing to draw, and the page says so
  const picture = h("div", { class: "card" }, h("p", { class: "quiet" }, "looking at the app…"));
  const words = h("p", { class: "quiet" }, "Every box shows how far it is. Numbers on the lines are records per second of the last ten seconds.");
  put(main, h("h1", {}, "Flow"), picture, words);
  const narrow = matchMedia("(max-width: 760px)");
  const redraw = () => system.known && put(picture, drawn(system, narrow.matches));
  leaving.push(system.listen(redraw));
  narrow.addEventListener("change", redraw);
  leaving.push(() => narrow.removeEventListener("change", redraw));
}

/** Records per second between the oldest sample that is kept and the newest. */
function pace(system, list, key, name, field) {
  const now = system.known[list].find((each) => each[key] === name);
  const then = system.before[list].find((each) => each[key] === name);
  const past = (system.known.at - system.before.at) / 1000;
  return now && then && past > 0.5 ? Math.max(0, (now[field] - then[field]) / past) : null;
}

const sum = (values) => (values.some((value) => value !== null) ? values.reduce((all, value) => all + (value ?? 0), 0) : null);

function columns(system) {
  const { streams, views, parts } = system.known;
  const part = (name) => parts.find((each) => each.part === name);
  const state = (name) => (part(name) && !["running", "waiting", "done"].includes(part(name).state) ? part(name) : null);
  const behind = (own) => (own.lag_records ? [`${count(own.lag_records, "record")} behind, ${seconds(own.lag_seconds)}`] : ["up to date"]);
  const layer = (name, title, lines) => ({ id: name, name: title, lines, broken: state(name), href: "#/health" });
  const speed = sum(views.map((view) => pace(system, "views", "view", view.view, "records")));
  const lake = sum(streams.map((stream) => pace(system, "streams", "stream", stream.stream, "lake_records")));
  const sent = (stream) => pace(system, "streams", "stream", stream.stream, "records");
  return {
    boxes: [
      streams.map((stream) => ({
        id: `stream ${stream.stream}`, name: stream.stream, href: `#/streams/${encodeURIComponent(stream.stream)}`,
        lines: [stream.source ? `made of ${stream.source}` : stream.owner ? `of app ${stream.owner}` : "stream", count(stream.records, "record"), `end ${stream.end}`],
      })),
      [layer("log", "log", ["Kafka topics", count(streams.length, "stream"), places("end", streams, "end")])],
      [layer("speed", "speed layer", ["every view, live", ...behind(part("speed")), places("cut", views, "cut")]),
        layer("lake", "lake", [count(streams.reduce((all, each) => all + each.lake_records, 0), "record"), ...behind(part("lake")), places("cut", streams, "lake_cut")]),
        layer("batch", "batch layer", ["from the lake", batched(views), places("cut", views, "generation_cut")])],
      views.map((view) => ({
        id: `view ${view.view}`, name: view.view, href: `#/view/${encodeURIComponent(view.view)}`,
        lines: [`version ${view.version}, ${view.state}`, ...behind(view), `cut ${view.cut}`], broken: view.state === "building" ? null : undefined,
      })),
    ],
    lines: [
      ...streams.map((stream) => [`stream ${stream.stream}`, "log", sent(stream)]),
      ["log", "lake", lake], ["log", "speed", speed === null ? null : speed / Math.max(1, views.length)], ["lake", "batch", null],
      ...views.flatMap((view) => [["speed", `view ${view.view}`, pace(system, "views", "view", view.view, "records")],
        ["batch", `view ${view.view}`, pace(system, "views", "view", view.view, "generation_records")]]),
    ],
  };
}

/** Where several things stand, each place once: mostly all stand at one. */
function places(word, list, field) {
  const known = [...new Set(list.map((each) => each[field]).filter(Boolean))];
  return known.length ? `${word} ${known.join(", ")}` : `no ${word} yet`;
}

function batched(views) {
  const done = views.filter((view) => view.generation_records).length;
  return done === views.length ? `${count(done, "view")} merged` : `${done} of ${views.length} views merged`;
}

function drawn(system, upright) {
  const { boxes, lines } = columns(system);
  const most = Math.max(...boxes.map((column) => column.length));
  const along = upright ? TALL + 46 : WIDE + BETWEEN, across = upright ? WIDE + GAP : TALL + GAP;
  const spots = new Map();
  boxes.forEach((column, i) => column.forEach((box, j) => {
    const middle = ((most - column.length) * across) / 2;
    const [a, b] = [i * along + 4, middle + j * across + 4];
    spots.set(box.id, upright ? [b, a] : [a, b]);
  }));
  const width = (upright ? most * across - GAP : boxes.length * along - BETWEEN) + 8;
  const height = (upright ? boxes.length * along - 46 : most * across - GAP) + 8;
  const picture = s("svg", { class: "flow", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "how data flows through the app" },
    lines.map(([from, to, value]) => edge(spots.get(from), spots.get(to), value, upright, from, to)),
    boxes.flat().map((box) => node(box, spots.get(box.id))));
  picture.style.maxHeight = upright ? "none" : "72vh";
  return picture;
}

function edge([x, y], [u, v], value, upright, from, to) {
  const same = upright ? y === v : x === u;
  const [a, b] = upright ? [x + WIDE / 2, y + TALL] : [x + WIDE, y + TALL / 2];
  const [c, d] = upright ? [u + WIDE / 2, v] : [u, v + TALL / 2];
  const moving = value !== null && value > 0;
  // The lake feeds the batch layer, which stands next to it.
  const path = same ? (upright ? `M${x + WIDE},${y + TALL / 2} L${u},${v + TALL / 2}` : `M${x + WIDE / 2},${y + TALL} L${u + WIDE / 2},${v}`)
    : upright ? `M${a},${b} C${a},${b + 24} ${c},${d - 24} ${c},${d}` : `M${a},${b} C${a + 48},${b} ${c - 48},${d} ${c},${d}`;
  const label = moving && !from.startsWith("batch") && !same;
  const [lx, ly] = [(a + c) / 2, (b + d) / 2 - 5];
  return s("g", {}, s("path", { d: path, class: moving ? "moving" : null }, s("title", {}, `${from} to ${to}${value === null ? "" : `: ${rate(value)}`}`)),
    label ? s("text", { x: lx, y: ly, class: "rate", "text-anchor": "middle" }, rate(value)) : null);
}

function node(box, [x, y]) {
  const text = (content, i, kind) => s("text", { x: x + 14, y: y + 26 + i * 21, class: kind }, content);
  const lines = box.broken ? [box.broken.state, (box.broken.error ?? "").split("\n")[0].slice(0, 30)] : box.lines;
  return s("a", { href: box.href, class: box.broken ? "bad" : null, "aria-label": `${box.name}: ${lines.join(", ")}` },
    s("rect", { x, y, width: WIDE, height: TALL }),
    s("title", {}, box.broken?.error ?? lines.join("\n")),
    text(box.name.length > 24 ? `${box.name.slice(0, 23)}…` : box.name, 0, "name"),
    lines.slice(0, 3).map((each, i) => text(each.length > 32 ? `${each.slice(0, 31)}…` : each, i + 1, /behind/.test(each) ? "small warn" : "small")));
}

