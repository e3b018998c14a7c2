// How data flows through the app, drawn from its own plan: streams, log, lake, speed and batch layers, views.
import { get } from "./api.js";
import { h, put, redraw, s } from "./dom.js";
import { count, rate, seconds } from "./text.js";

const WIDE = 210, TALL = 104, GAP = 22, BETWEEN = 96;

export async function flow(main, { system, leaving }) {
  await get("/flow"); // where no node runs there is nothing to draw, and the page says so
  const picture = h("div", { class: "card" }, h("p", { class: "quiet" }, "looking at the app…"));
  const words = h("p", { class: "quiet" }, "Every box shows how far it is. Numbers on the lines are records per second of the last ten seconds.");
  put(main, h("h1", {}, "Flow"), picture, words);
  const narrow = matchMedia("(max-width: 760px)");
  const show = () => system.known && redraw(picture, narrow.matches ? listed(system) : drawn(system));
  leaving.push(system.listen(show));
  narrow.addEventListener("change", show);
  leaving.push(() => narrow.removeEventListener("change", show));
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
  const fed = streams.map((stream) => views.filter((view) => view.stream === stream.stream).map((view) => pace(system, "views", "view", view.view, "records")));
  const speed = sum(fed.map((own) => own.reduce((most, each) => (each !== null && each > (most ?? -1) ? each : most), null)));
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
      ["log", "lake", lake], ["log", "speed", speed], ["lake", "batch", null],
      ...views.flatMap((view) => [["speed", `view ${view.view}`, pace(system, "views", "view", view.view, "records")],
        ["batch", `view ${view.view}`, pace(system, "views", "view", view.view, "generation_records")]]),
    ],
  };
}

/** Where several things stand: mostly all at one place; else the boxes beside tell where each does. */
function places(word, list, field) {
  const known = [...new Set(list.map((each) => each[field]).filter(Boolean))];
  return known.length > 1 ? `at ${count(known.length, word)}` : known.length ? `${word} ${known[0]}` : `no ${word} yet`;
}

function batched(views) {
  const done = views.filter((view) => view.generation_records).length;
  return done === views.length ? `${count(done, "view")} merged` : `${done} of ${views.length} views merged`;
}

const COLUMNS = ["Streams", "Log", "Layers", "Views"];

/** The same for a narrow screen: box under box, each with what comes in. */
function listed(system) {
  const { boxes, lines } = columns(system);
  const into = (id) => lines.filter(([, to, value]) => to === id && value > 0).map(([from, , value]) => `${rate(value)} from ${from.replace(/^\w+ (?=.)/, "")}`);
  return boxes.map((column, i) => h("section", { "aria-label": COLUMNS[i] }, h("h2", {}, COLUMNS[i]), column.map((box) =>
    h("a", { class: box.broken ? "box bad" : "box", href: box.href }, h("b", {}, box.name), told(box).map((line) => h("span", { class: /behind/.test(line) ? "warn" : null }, line)), into(box.id).map((line) => h("span", { class: "rate" }, line))))));
}

function drawn(system) {
  const { boxes, lines } = columns(system);
  const most = Math.max(...boxes.map((column) => column.length));
  const along = WIDE + BETWEEN, across = TALL + GAP;
  const spots = new Map();
  boxes.forEach((column, i) => column.forEach((box, j) => spots.set(box.id, [i * along + 4, ((most - column.length) * across) / 2 + j * across + 4])));
  const [width, height] = [boxes.length * along - BETWEEN + 8, most * across - GAP + 8];
  const picture = s("svg", { class: "flow", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "how data flows through the app" },
    lines.map(([from, to, value]) => edge(spots.get(from), spots.get(to), value, from, to)),
    boxes.flat().map((box) => node(box, spots.get(box.id))));
  picture.style.maxHeight = `${Math.max(height * 0.75, 400)}px`;
  return picture;
}

function edge([x, y], [u, v], value, from, to) {
  const same = x === u, moving = value !== null && value > 0;
  const [a, b, c, d] = [x + WIDE, y + TALL / 2, u, v + TALL / 2];
  // The lake feeds the batch layer, which stands below it.
  const path = same ? `M${x + WIDE / 2},${y + TALL} L${u + WIDE / 2},${v}` : `M${a},${b} C${a + 48},${b} ${c - 48},${d} ${c},${d}`;
  const label = moving && !from.startsWith("batch") && !same;
  return s("g", {}, s("path", { d: path, class: moving ? "moving" : null }, s("title", {}, `${from} to ${to}${value === null ? "" : `: ${rate(value)}`}`)),
    label ? s("text", { x: (a + c) / 2, y: (b + d) / 2 - 5, class: "rate", "text-anchor": "middle" }, rate(value)) : null);
}

const told = (box) => (box.broken ? [box.broken.state, (box.broken.error ?? "").split("\n")[0]] : box.lines);

function node(box, [x, y]) {
  const text = (content, i, kind) => s("text", { x: x + 14, y: y + 26 + i * 21, class: kind }, content);
  const lines = told(box);
  return s("a", { href: box.href, class: box.broken ? "bad" : null, "aria-label": `${box.name}: ${lines.join(", ")}` },
    s("rect", { x, y, width: WIDE, height: TALL }),
    s("title", {}, box.broken?.error ?? lines.join("\n")),
    text(box.name.length > 24 ? `${box.name.slice(0, 23)}…` : box.name, 0, "name"),
    lines.slice(0, 3).map((each, i) => text(each.length > 30 ? `${each.slice(0, 29)}…` : each, i + 1, /behind/.test(each) ? "small warn" : "small")));
}

