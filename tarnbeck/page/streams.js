// Streams: their newest events as they come, a form to send one, their schema and partitions, and what was set aside.
import { get, job, mayChange, NO_TOKEN, send } from "./api.js";
import { confirmed, h, put, redraw, table, trouble } from "./dom.js";
import { count, number } from "./text.js";

const EVERY = 500, SHOWN = 200, KEPT = 1000, LONGEST = 4000;

export async function streams(main, { rest, leaving }) {
  const { streams: all } = await get("/streams");
  if (!all.length) return put(main, h("h1", {}, "Streams"), h("p", {}, "The app declares no streams yet."));
  const name = rest[0] ?? all[0].stream;
  const known = all.find((each) => each.stream === name);
  if (!known) throw new Error(`There is no stream '${name}'.\n  The app has: ${all.map((each) => each.stream).join(", ")}`);
  const partitions = h("div", {});
  const measure = async () => {
    const { places } = await get(`/streams/${encodeURIComponent(name)}`);
    redraw(partitions, table(`topic ${known.topic}`, ["partition", "first", "end", "lake", "behind"], places.map((each) => [each.partition, number(each.first), number(each.end), number(each.lake), number(Math.max(0, each.end - each.lake))]), ["partition", "first", "end", "lake", "behind"]));
  };
  put(main, h("h1", {}, "Streams"),
    h("div", { class: "bar", role: "navigation", "aria-label": "Streams" }, all.map((each) => h("a", { href: `#/streams/${encodeURIComponent(each.stream)}`, "aria-current": each === known ? "true" : null, class: "pill" }, each.stream))),
    followed(known, leaving),
    h("div", { class: "grid" },
      h("section", { class: "card" }, h("h2", {}, "Send an event"), sender(known)),
      h("section", { class: "card" }, h("h2", {}, "Partitions"), partitions, h("h2", {}, "Schema"),
        table(described(known), ["column", "type"], known.columns.map((each) => [each.name, each.type]))),
      h("section", { class: "card" }, h("h2", {}, "Quarantine"), quarantine(known))));
  const beat = setInterval(() => measure().catch(() => {}), 3000);
  leaving.push(() => clearInterval(beat));
  await measure();
}

function described({ definition }) {
  const time = definition.time && (definition.time.column ?? definition.time.name ?? JSON.stringify(definition.time));
  return `event time: ${time ?? "arrival"}, key: ${definition.key ?? "none"}`;
}

/** The newest events; what comes faster than it can be read is counted, not queued. */
function followed(known, leaving) {
  const list = h("ol", { class: "events", tabindex: "0", "aria-label": "newest events, newest first" });
  const filter = h("input", { type: "search", placeholder: "only events with this text", "aria-label": "filter events" });
  const told = h("span", { class: "quiet" });
  let paused = false, next = null, events = [], over = false, skipped = 0;
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused) next = null;
  } }, "Pause");
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const shown = events.filter((each) => !wanted || text(each).toLowerCase().includes(wanted)).slice(0, SHOWN);
    redraw(list, shown.map((each) => h("li", {}, h("span", { class: "place" }, `${each.partition}:${each.offset} ${each.received.slice(11, 23)}`), text(each))));
    redraw(told, `${count(shown.length, "event")}${wanted ? ` of ${events.length}` : ""}${skipped ? `, ${count(skipped, "event")} passed by` : ""}`);
  };
  const look = async () => {
    if (!paused) {
      try {
        const found = await get(`/streams/${encodeURIComponent(known.stream)}/events?limit=${SHOWN}${next ? `&after=${encodeURIComponent(next)}` : ""}`);
        const fresh = found.events.length || !next;
        events = [...found.events.reverse().map(cut), ...(next ? events : [])].slice(0, KEPT);
        skipped += found.skipped;
        next = found.next;
        if (!paused && fresh) draw();
      } catch (error) {
        put(told, error.message);
      }
    }
    if (!over) setTimeout(look, document.hidden ? 10 * EVERY : EVERY);
  };
  filter.addEventListener("input", draw);
  leaving.push(() => { over = true; });
  look();
  return h("section", { class: "card" }, h("div", { class: "bar" }, h("h2", {}, known.stream), filter, pause, told), list);
}

/** Many long events would be more than a browser can hold: `tarnbeck tail` has them whole. */
const cut = (event) => ((event.value ?? "").length > LONGEST ? { ...event, value: `${event.value.slice(0, LONGEST)}… (${count(event.value.length, "character")})` } : event);
const text = (event) => event.value ?? (event.value_base64 ? `base64 ${event.value_base64}` : "(empty)");

const SAMPLES = { string: "text", boolean: true, timestamp: () => new Date().toISOString(), date: () => new Date().toISOString().slice(0, 10), int: 1, bigint: 1, double: 1.5 };

function sample(columns) {
  return Object.fromEntries(columns.map(({ name, type }) => {
    const found = SAMPLES[type] ?? (type.startsWith("decimal") ? 1 : type.startsWith("array") ? [] : type.startsWith("binary") ? "" : {});
    return [name, typeof found === "function" ? found() : found];
  }));
}

function sender(known) {
  const words = h("textarea", { rows: "8", "aria-label": "event as JSON", spellcheck: "false", value: JSON.stringify(sample(known.columns), null, 1) });
  const told = h("div", { role: "status" });
  const go = async () => {
    try {
      JSON.parse(words.value);
      const sent = await send(known.stream, words.value);
      put(told, h("p", { class: "done" }, `${count(sent.acknowledged, "event")} acknowledged at ${Object.entries(sent.offsets).map(([p, o]) => `${p}:${o[0]}`).join(" ")}. It stays in the log for ever.`));
    } catch (error) {
      put(told, trouble(error instanceof SyntaxError ? `This is not JSON: ${error.message}` : error));
    }
  };
  return [words, h("div", { class: "bar" }, h("button", { type: "button", class: "main", onclick: go }, "Send")), told];
}

function quarantine(known) {
  const place = h("div", {}, h("p", { class: "quiet" }, mayChange() ? "Events that could not be decoded, with the reason. Nothing of them is lost." : NO_TOKEN));
  const list = async () => {
    put(place, h("p", { class: "quiet" }, "reading the lake…"));
    try {
      const { events, more } = await job({ do: "quarantine", action: "list", stream: known.stream, limit: 50 });
      put(place, events.length ? table(`${events.length}${more ? " newest" : ""}`, ["place", "reason", "bytes", "actions"], events.map((each) => [
        `${each.partition}:${each.offset}`, h("span", { class: "wrap" }, each.reason), number(each.size),
        [h("button", { type: "button", onclick: () => whole(each) }, "Show"), h("button", { type: "button", onclick: () => retry(each) }, "Retry")]])) : h("p", {}, "Nothing here: every event could be decoded."), detail);
    } catch (error) {
      put(place, trouble(error));
    }
  };
  const detail = h("div", { role: "status" });
  const at = (each) => [each.partition, each.offset, each.index ?? 0];
  const whole = async (each) => {
    try {
      const { event } = await job({ do: "quarantine", action: "show", stream: known.stream, place: at(each) });
      put(detail, h("pre", {}, event.value ?? "(empty)"));
    } catch (error) {
      put(detail, trouble(error));
    }
  };
  const retry = async (each) => {
    if ((await confirmed(`Append event ${each.partition}:${each.offset} to '${known.stream}' again? It is decoded by the stream's newest schema.`, false)) === null) return;
    try {
      const done = await job({ do: "quarantine", action: "retry", stream: known.stream, places: [at(each)] });
      put(detail, h("p", { class: "done" }, `${count(done.sent, "event")} sent again`));
    } catch (error) {
      put(detail, trouble(error));
    }
  };
  return [h("button", { type: "button", disabled: !mayChange(), onclick: list }, "Look"), place];
}
