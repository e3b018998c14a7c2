// One view: a question that is put together by hand, its answer as a chart that stays up to date, and the code for it.
import { follow, get, getAs, pathOf } from "./api.js";
import { Chart, swatch } from "./chart.js";
import { curl, python, sql } from "./code.js";
import { choice, h, perFrame, put, redraw, save, table, toggle, trouble } from "./dom.js";
import { Heat, topList } from "./pictures.js";
import { address, candle, CHARTS, follows, LIVE_ROWS, parameters, RANGES, read } from "./question.js";
import { colourOf, fromSpeed, named, Rows, series } from "./rows.js";
import { count, isNumber, length, moment, seconds, shown } from "./text.js";

const MOST_SERIES = 12, MOST_NAMED = 24, MOST_SHOWN = 500, ALL_ROWS = 200000, MOST_SAVED = 1000000, STALE = 5000;
/** Lists of keys that stay open while one chooses, though each choice is a new address. */
const OPEN = new Set();
/** The keys that were seen of each view, so that others can be chosen when only one is asked for. */
const SEEN = new Map();
const KINDS = { csv: "text/csv", parquet: "application/vnd.apache.parquet" };

export async function view(main, { rest, query, system, leaving }) {
  const { views } = await get("/views");
  if (!views.length) return put(main, h("h1", {}, "Views"), h("p", {}, "The app declares no views yet."));
  const known = views.find((each) => each.view === rest[0]) ?? (rest[0] ? null : views[0]);
  if (!known) throw new Error(`There is no view '${rest[0]}'.\n  The app has: ${views.map((each) => each.view).join(", ")}`);
  const page = new View(known, read(known, query), views);
  put(main, page.element);
  page.ask();
  // A clock of its own: when the server is silent, what is shown grows older all the same.
  page.lag(system);
  const beat = setInterval(() => page.lag(system), 1000);
  leaving.push(() => page.end(), () => clearInterval(beat));
}

class View {
  constructor(known, asked, views) {
    Object.assign(this, { known, asked, views, rows: new Rows(), values: SEEN.get(known.view) ?? new Map(), stop: () => {}, batch: [], lists: [], seen: 0, leaving: new AbortController() });
    this.render = perFrame(() => this.draw());
    SEEN.set(known.view, this.values);
    this.chart = new Chart((from, to) => this.go({ last: "", since: new Date(from).toISOString(), until: new Date(to).toISOString(), live: false }));
    addEventListener("themed", (this.themed = () => this.render()));
    this.heat = new Heat();
    this.place = h("div", {});
    this.legend = h("div", { class: "legend" });
    this.behind = h("span", {});
    this.told = h("span", { class: "told" });
    this.problem = h("div", {});
    this.element = h("div", {}, h("h1", {}, known.view), this.controls(), h("section", { class: "card", "aria-label": "answer" }, this.problem, this.place, this.legend, h("p", { class: "facts" }, this.told, this.behind)), this.tools());
  }

  /** Another question is another address; two changes in a row must not undo each other, so the newest is changed. */
  go(change) {
    const newest = read(this.known, new URLSearchParams(location.hash.split("?")[1] ?? ""));
    location.hash = address({ ...newest, ...change });
  }

  controls() {
    const { known, asked } = this;
    const windowed = known.levels[0] !== "all";
    const columns = known.outputs.filter((each) => isNumber(each.type)).map((each) => each.name);
    const charts = CHARTS.filter(([kind]) => (kind !== "candle" || candle(known)) && (windowed || ["top", "table"].includes(kind)));
    const custom = Boolean(asked.since || asked.until);
    const ranges = [...RANGES, ...(RANGES.some(([each]) => each === asked.last) ? [] : [asked.last]), ["custom", "from … to …"]];
    return h("div", { class: "bar" },
      choice("View", this.views.map((each) => each.view), known.view, (name) => { location.hash = `#/view/${encodeURIComponent(name)}`; }),
      known.keys.map((key) => this.keyChoice(key.name)),
      windowed ? choice("Range", ranges, custom ? "custom" : asked.last, (last) => this.go(last === "custom" ? this.shownRange() : { last, since: "", until: "", live: true, per: "" })) : null,
      windowed && custom ? [this.moment("From (UTC)", "since"), this.moment("To (UTC)", "until")] : null,
      known.levels.length > 1 ? choice("Per", known.levels, asked.per, (per) => this.go({ per })) : null,
      choice("Show", charts, asked.chart, (chart) => this.go({ chart })),
      columns.length && asked.chart !== "candle" && asked.chart !== "table" ? choice("Column", columns, asked.column, (column) => this.go({ column })) : null,
      windowed ? choice("Compare with", [["", "nothing"], ["1h", "1 hour"], ["1d", "1 day"], ["7d", "7 days"]].filter(([each]) => !each || length(each) > (length(asked.last) ?? Infinity)), asked.against, (against) => this.go({ against, chart: against ? "table" : "" })) : null,
      // A table can be asked for any moment before.
      known.table ? this.moment("As of (UTC)", "as_of") : null,
      toggle("live", asked.live && follows(asked), (live) => this.go({ live }), !follows(asked)),
      windowed ? toggle("batch and speed", asked.layers, (layers) => this.go({ layers })) : null);
  }

  /** A field for a moment of the question. */
  moment(label, name) {
    const time = h("input", { type: "datetime-local", step: "1", name: label, value: this.asked[name].replace(/(\.\d+)?Z$/, ""), onchange: () => this.go({ [name]: time.value && `${time.value}Z` }) });
    return h("label", { class: "field" }, h("span", {}, label), time);
  }

  /** The range that is on the screen now, to be changed by hand. */
  shownRange() {
    const seconds_ = length(this.asked.last) ?? 3600, now = Date.now(), text = (at) => new Date(at).toISOString().slice(0, 19) + "Z";
    return { last: "", since: text(now - seconds_ * 1000), until: text(now), live: false };
  }

  keyChoice(name) {
    const chosen = this.asked.keys[name] ?? [];
    const values = h("div", {});
    const change = (wanted) => this.go({ keys: wanted.length ? { ...this.asked.keys, [name]: wanted } : Object.fromEntries(Object.entries(this.asked.keys).filter(([key]) => key !== name)) });
    const typed = h("input", { type: "text", placeholder: "another value", "aria-label": `another value of ${name}`, onchange: () => typed.value && change([...chosen, typed.value]) });
    const place = `${this.known.view} ${name}`;
    const fill = () => redraw(values, [...new Set([...chosen, ...(this.values.get(name) ?? [])])].sort().slice(0, 200).map((value) =>
      toggle(value, chosen.includes(value), (on) => change(on ? [...chosen, value] : chosen.filter((each) => each !== value)))));
    const box = h("details", { class: "keys", open: OPEN.has(place), ontoggle: () => (box.open ? OPEN.add(place) : OPEN.delete(place)) },
      h("summary", { "aria-label": `${name}: ${chosen.join(", ") || "all"}` }, chosen.join(", ") || "all"),
      h("div", {}, values, typed, chosen.length ? h("button", { type: "button", onclick: () => change([]) }, "all of them") : null));
    this.lists.push(fill);
    fill();
    return h("div", { class: "field" }, h("span", {}, name), box);
  }

  tools() {
    const { known, asked } = this;
    const path = (limit = asked.limit) => `${pathOf(known.view)}?${parameters(known, { ...asked, limit })}`;
    const saved = (kind) => async () => {
      try {
        save(`${known.view}.${kind}`, await getAs(path(MOST_SAVED), KINDS[kind]));
      } catch (error) {
        this.failed(error);
      }
    };
    const copied = h("button", { type: "button", onclick: async () => {
      // Browsers let only safe pages write there.
      copied.textContent = await navigator.clipboard?.writeText(location.href).then(() => "Copied", () => null) ?? "Copy it from the address bar";
    } }, "Copy link");
    const picture = { heat: () => this.heat.picture(), top: null, table: null }[asked.against ? "table" : asked.chart];
    const code = h("details", { class: "card" }, h("summary", {}, "The code for this"),
      [["Python", python], ["curl", curl], ["SQL", sql]].map(([name, made]) => [h("h2", {}, name), h("pre", { class: `code-${name.toLowerCase()}`, tabindex: "0" }, made(known, asked))]));
    return [h("div", { class: "bar" }, copied,
      Object.keys(KINDS).map((kind) => h("button", { type: "button", onclick: saved(kind) }, kind === "csv" ? "CSV" : "Parquet")),
      picture === null ? null : h("button", { type: "button", onclick: async () => save(`${known.view}.png`, await (picture ?? (() => this.chart.picture()))()) }, "PNG"),
      h("a", { href: path() }, "JSON")), code];
  }

  async ask() {
    const { known, asked } = this;
    if (asked.live && follows(asked)) {
      this.stop = follow(known.view, parameters(known, asked), {
        update: (told) => {
          this.rows.update(told);
          this.arrived();
        },
        lost: () => this.failed(new Error("The connection is lost; what you see is as old as it says. It comes back by itself.")),
        refused: (error) => this.failed(error),
      });
    } else {
      await this.once("", (found) => {
        this.rows.answer(found);
        this.arrived();
      });
    }
    if (asked.layers) this.askBatch();
  }

  /** Asks one time; what comes after the page was left is nobody's any more. */
  async once(more, arrived) {
    try {
      arrived(await get(`${pathOf(this.known.view)}?${parameters(this.known, this.asked)}${more}`, this.leaving.signal));
    } catch (error) {
      if (!this.leaving.signal.aborted) this.failed(error);
    }
  }

  /** What the batch layer alone says is asked for again as long as the page shows the difference. */
  async askBatch() {
    await this.once("&layer=batch", (found) => {
      this.batch = found.rows;
      this.render();
    });
    if (!this.leaving.signal.aborted) this.again = setTimeout(() => this.askBatch(), 5000);
  }

  arrived() {
    this.seen = performance.now();
    put(this.problem);
    const known = [...this.values.values()].reduce((all, each) => all + each.size, 0);
    for (const { name } of this.known.keys) {
      const all = this.values.get(name) ?? new Set();
      for (const row of this.rows.rows.values()) if (all.size < 2000 && row[name] !== null) all.add(String(row[name]));
      this.values.set(name, all);
    }
    if ([...this.values.values()].reduce((all, each) => all + each.size, 0) !== known) this.lists.forEach((fill) => fill());
    this.render();
  }

  failed(error) {
    // Told anew only if it is another problem: whoever listens to the page hears it once.
    if (this.problem.textContent !== error.message) put(this.problem, trouble(error));
  }

  draw() {
    const { known, asked } = this;
    const rows = this.rows.ordered();
    const made = asked.against ? "table" : asked.chart;
    DRAWN[made in DRAWN ? made : "line"](this, rows, known, asked);
    const { cut, truncated, kept_since } = this.rows.facts;
    if (!cut) return;
    redraw(this.told, h("span", {}, h("b", {}, count(rows.length, "row")), truncated ? " (the newest)" : ""),
      truncated && asked.limit === LIVE_ROWS ? h("a", { href: address({ ...asked, limit: ALL_ROWS }) }, "show all") : null,
      h("span", { class: "cut" }, "cut ", h("b", {}, Object.entries(cut.offsets).map(([p, o]) => `${p}:${o}`).join(" ") || "0")),
      h("span", {}, "version ", h("b", {}, this.rows.facts.version)),
      kept_since ? h("span", {}, `kept since ${moment(typeof kept_since === "number" ? kept_since / 1000 : kept_since)}`) : null,
      asked.layers ? h("span", {}, swatch("var(--speed)"), "the speed layer has added to these windows") : null);
  }

  lag({ known }) {
    const own = known?.views.find((each) => each.view === this.known.view);
    if (!own) return;
    const now = performance.now(), silent = now - known.at > STALE ? `nothing heard for ${seconds((now - known.at) / 1000)}` : null;
    put(this.behind, silent ?? (own.lag_records ? `${count(own.lag_records, "record")} behind, ${seconds(own.lag_seconds)}` : "up to date"),
      this.asked.live && follows(this.asked) && this.seen ? `, last change ${seconds((now - this.seen) / 1000)} ago` : "");
  }

  end() {
    this.stop();
    this.leaving.abort();
    clearTimeout(this.again);
    removeEventListener("themed", this.themed);
  }
}

const short = (time) => (time ? time.slice(5, 16).replace("T", " ") : "…");

function overTime(page, rows, known, asked) {
  const candles = asked.chart === "candle" ? candle(known) : null;
  const all = series(known, rows, asked.column, candles);
  const shownSeries = (candles ? all.slice(0, 1) : all).filter((each) => !asked.hide.includes(each.name)).slice(0, MOST_SERIES);
  if (page.place.firstChild !== page.chart.element) put(page.place, page.chart.element);
  const span = rows.length ? Date.parse(rows[0].end) - Date.parse(rows[0].start) : 0;
  page.chart.show({ kind: candles ? "candle" : asked.chart === "bar" ? "bar" : "line", series: shownSeries, span, speed: asked.layers ? fromSpeed(known, rows, page.batch) : [] });
  const told = all.length > 1 ? all.slice(0, MOST_NAMED).map((each) => {
    const on = shownSeries.includes(each);
    const only = Object.fromEntries(each.keys.filter(([, value]) => value !== null).map(([name, value]) => [name, [String(value)]]));
    const flip = candles ? { keys: only } : { hide: on ? [...asked.hide, each.name] : asked.hide.filter((name) => name !== each.name) };
    return h("button", { type: "button", "aria-pressed": String(on), onclick: () => page.go(flip) }, swatch(each.colour), each.name);
  }) : [];
  const more = candles ? all.length > MOST_NAMED : all.length > shownSeries.length + asked.hide.length;
  redraw(page.legend, told, more ? h("span", { class: "quiet" }, candles ? `and ${all.length - MOST_NAMED} more` : `${shownSeries.length} of ${count(all.length, "line")} are drawn: choose keys to see others`) : null);
}

const DRAWN = {
  line: overTime,
  candle: overTime,
  bar: overTime,
  heat: (page, rows, known, asked) => {
    if (page.place.firstChild !== page.heat.canvas) put(page.place, page.heat.canvas);
    redraw(page.legend, h("span", { class: "quiet" }, page.heat.show(rows, (row) => named(known, row), asked.column)));
  },
  top: (page, rows, known, asked) => redraw(page.place, topList(rows, (row) => named(known, row), asked.column, colourOf(0))),
  table: (page, rows) => {
    const columns = page.rows.columns;
    const newest = rows.slice(-MOST_SHOWN).reverse();
    const caption = rows.length > MOST_SHOWN ? `the newest ${MOST_SHOWN} of ${count(rows.length, "row")}; CSV has all` : "newest first";
    redraw(page.place, table(caption, columns.map((each) => each.name), newest.map((row) => columns.map(({ name, type }) => shown(row[name], type))), columns.filter((each) => isNumber(each.type)).map((each) => each.name)));
  },
};
