// One view: a question that is put together by hand, its answer as a chart that stays up to date, and the code for it.
import { follow, get, getAs, pathOf } from "./api.js";
import { Chart, swatch } from "./chart.js";
import { curl, python, sql } from "./code.js";
import { choice, h, perFrame, put, save, table, toggle, trouble } from "./dom.js";
import { Heat, topList } from "./pictures.js";
import { address, candle, CHARTS, LIVE_ROWS, parameters, RANGES, read } from "./question.js";
import { colourOf, fromSpeed, named, Rows, series } from "./rows.js";
import { count, isNumber, length, moment, seconds, shown } from "./text.js";

const MOST_SERIES = 12, MOST_SHOWN = 500, ALL_ROWS = 200000;
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
  leaving.push(() => page.end(), system.listen(({ known: flow }) => page.lag(flow.views.find((each) => each.view === known.view))));
}

class View {
  constructor(known, asked, views) {
    Object.assign(this, { known, asked, views, rows: new Rows(), values: SEEN.get(known.view) ?? new Map(), stop: () => {}, batch: [], lists: [], seen: 0 });
    this.render = perFrame(() => this.draw());
    SEEN.set(known.view, this.values);
    this.chart = new Chart((from, to) => this.go({ last: "", since: new Date(from).toISOString(), until: new Date(to).toISOString(), live: false }));
    addEventListener("themed", (this.themed = () => this.render()));
    this.heat = new Heat();
    this.place = h("div", {});
    this.legend = h("div", { class: "legend" });
    this.facts = h("p", { class: "facts", role: "status" });
    this.behind = h("span", {});
    this.problem = h("div", {});
    this.element = h("div", {}, h("h1", {}, known.view), this.controls(), h("section", { class: "card", "aria-label": "answer" }, this.problem, this.place, this.legend, this.facts), this.tools());
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
    const custom = asked.since || asked.until;
    return h("div", { class: "bar" },
      choice("View", this.views.map((each) => each.view), known.view, (name) => { location.hash = `#/view/${encodeURIComponent(name)}`; }),
      known.keys.map((key) => this.keyChoice(key.name)),
      windowed ? choice("Range", [...RANGES, ...(RANGES.some(([each]) => each === asked.last) ? [] : [asked.last]), ...(custom ? [["custom", `${short(asked.since)} to ${short(asked.until)}`]] : [])], custom ? "custom" : asked.last, (last) => this.go({ last, since: "", until: "", live: true, per: "" })) : null,
      known.levels.length > 1 ? choice("Per", known.levels, asked.per, (per) => this.go({ per })) : null,
      choice("Show", charts, asked.chart, (chart) => this.go({ chart })),
      columns.length && asked.chart !== "candle" && asked.chart !== "table" ? choice("Column", columns, asked.column, (column) => this.go({ column })) : null,
      windowed ? choice("Compare with", [["", "nothing"], ["1h", "1 hour"], ["1d", "1 day"], ["7d", "7 days"]].filter(([each]) => !each || length(each) > (length(asked.last) ?? Infinity)), asked.against, (against) => this.go({ against, chart: against ? "table" : "" })) : null,
      known.table ? this.momentChoice() : null,
      toggle("live", asked.live, (live) => this.go({ live })),
      windowed ? toggle("batch and speed", asked.layers, (layers) => this.go({ layers })) : null);
  }

  /** A table can be asked for any moment before. */
  momentChoice() {
    const time = h("input", { type: "datetime-local", step: "1", value: this.asked.as_of.replace("Z", ""), onchange: () => this.go({ as_of: time.value && `${time.value}Z` }) });
    return h("label", { class: "field" }, h("span", {}, "As of (UTC)"), time);
  }

  keyChoice(name) {
    const chosen = this.asked.keys[name] ?? [];
    const list = h("div", {});
    const change = (values) => this.go({ keys: values.length ? { ...this.asked.keys, [name]: values } : Object.fromEntries(Object.entries(this.asked.keys).filter(([key]) => key !== name)) });
    const typed = h("input", { type: "text", placeholder: "another value", "aria-label": `another value of ${name}`, onchange: () => typed.value && change([...chosen, typed.value]) });
    const place = `${this.known.view} ${name}`;
    const fill = () => {
      if (box.open) OPEN.add(place);
      else OPEN.delete(place);
      return filled();
    };
    const filled = () => put(list, [...new Set([...chosen, ...(this.values.get(name) ?? [])])].sort().slice(0, 200).map((value) =>
      toggle(value, chosen.includes(value), (on) => change(on ? [...chosen, value] : chosen.filter((each) => each !== value)))), typed,
      chosen.length ? h("button", { type: "button", onclick: () => change([]) }, "all of them") : null);
    const box = h("details", { class: "keys", open: OPEN.has(place), ontoggle: fill }, h("summary", { "aria-label": `${name}: ${chosen.join(", ") || "all"}` }, chosen.join(", ") || "all"), list);
    this.lists.push(filled);
    return h("div", { class: "field" }, h("span", {}, name), box);
  }

  tools() {
    const { known, asked } = this;
    const path = () => `${pathOf(known.view)}?${parameters(known, asked)}`;
    const saved = (kind) => async () => {
      try {
        save(`${known.view}.${kind}`, await getAs(path(), KINDS[kind]));
      } catch (error) {
        this.failed(error);
      }
    };
    const copied = h("button", { type: "button", onclick: async () => {
      await navigator.clipboard.writeText(location.href);
      copied.textContent = "Copied";
    } }, "Copy link");
    const code = h("details", { class: "card" }, h("summary", {}, "The code for this"),
      [["Python", python], ["curl", curl], ["SQL", sql]].map(([name, made]) => [h("h2", {}, name), h("pre", { class: `code-${name.toLowerCase()}`, tabindex: "0" }, made(known, asked))]));
    return [h("div", { class: "bar" }, copied,
      Object.keys(KINDS).map((kind) => h("button", { type: "button", onclick: saved(kind) }, kind === "csv" ? "CSV" : "Parquet")),
      h("button", { type: "button", onclick: async () => save(`${known.view}.png`, await this.chart.picture()) }, "PNG"),
      h("a", { href: path() }, "JSON")), code];
  }

  async ask() {
    const { known, asked } = this;
    if (asked.live && asked.limit === LIVE_ROWS && !asked.against && !asked.as_of) {
      this.stop = follow(known.view, parameters(known, asked), {
        update: (told) => {
          this.rows.update(told);
          this.arrived();
        },
        lost: () => this.failed(new Error("The connection is lost; what you see is as old as it says. It comes back by itself.")),
        refused: (error) => this.failed(error),
      });
    } else {
      try {
        this.rows.answer(await get(`${pathOf(known.view)}?${parameters(known, asked)}`));
        this.arrived();
      } catch (error) {
        this.failed(error);
      }
    }
    if (asked.layers) this.askBatch();
  }

  /** What the batch layer alone says is asked for again as long as the page shows the difference. */
  async askBatch() {
    try {
      this.batch = (await get(`${pathOf(this.known.view)}?${parameters(this.known, this.asked)}&layer=batch`)).rows;
      this.render();
    } catch (error) {
      if (error.status === 400) return this.failed(error);
    }
    this.again = setTimeout(() => this.askBatch(), 5000);
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
    put(this.problem, trouble(error));
  }

  draw() {
    const { known, asked } = this;
    const rows = this.rows.chosen(asked);
    const made = asked.against ? "table" : asked.chart;
    DRAWN[made in DRAWN ? made : "line"](this, rows, known, asked);
    const { cut, truncated, kept_since } = this.rows.facts;
    if (!cut) return;
    put(this.facts, h("span", {}, h("b", {}, count(rows.length, "row")), truncated ? " (the newest)" : ""),
      truncated && asked.limit === LIVE_ROWS ? h("a", { href: address({ ...asked, limit: ALL_ROWS }) }, "show all") : null,
      h("span", { class: "cut" }, "cut ", h("b", {}, Object.entries(cut.offsets).map(([p, o]) => `${p}:${o}`).join(" ") || "0")),
      h("span", {}, "version ", h("b", {}, this.rows.facts.version)), this.behind,
      kept_since ? h("span", {}, `kept since ${moment(typeof kept_since === "number" ? kept_since / 1000 : kept_since)}`) : null,
      asked.layers ? h("span", {}, swatch("var(--speed)"), "the speed layer has added to these windows") : null);
  }

  lag(own) {
    if (!own) return;
    const age = (performance.now() - this.seen) / 1000;
    put(this.behind, own.lag_records ? `${count(own.lag_records, "record")} behind, ${seconds(own.lag_seconds)}` : "up to date", this.asked.live && this.seen ? `, last change ${seconds(age)} ago` : "");
  }

  end() {
    this.stop();
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
  const told = all.length > 1 ? all.slice(0, 24).map((each) => {
    const on = shownSeries.includes(each);
    const flip = candles ? { keys: { [known.keys[0].name]: [each.name] } } : { hide: on ? [...asked.hide, each.name] : asked.hide.filter((name) => name !== each.name) };
    return h("button", { type: "button", "aria-pressed": String(on), onclick: () => page.go(flip) }, swatch(each.colour), each.name);
  }) : [];
  if (page.legend.textContent !== told.map((each) => each.textContent).join("")) put(page.legend, told);
}

const DRAWN = {
  line: overTime,
  candle: overTime,
  bar: overTime,
  heat: (page, rows, known, asked) => {
    if (page.place.firstChild !== page.heat.canvas) put(page.place, page.heat.canvas);
    page.heat.show(rows, (row) => named(known, row), asked.column);
  },
  top: (page, rows, known, asked) => put(page.place, topList(rows, (row) => named(known, row), asked.column, colourOf(0))),
  table: (page, rows) => {
    const columns = page.rows.columns;
    const newest = rows.slice(-MOST_SHOWN).reverse();
    const caption = rows.length > MOST_SHOWN ? `the newest ${MOST_SHOWN} of ${count(rows.length, "row")}; CSV has all` : "newest first";
    put(page.place, table(caption, columns.map((each) => each.name), newest.map((row) => columns.map(({ name, type }) => shown(row[name], type))), columns.filter((each) => isNumber(each.type)).map((each) => each.name)));
  },
};
