// A console for SQL over views: completion, history, errors where they are, results as table or chart.
import { get, sql } from "./api.js";
import { Chart } from "./chart.js";
import { choice, h, put, save, table, trouble } from "./dom.js";
import { keep, recall } from "./keep.js";
import { colourOf } from "./rows.js";
import { count, isNumber, isTime, millis, shown } from "./text.js";

const FILES = { CSV: ["answer.csv", "text/csv"], Parquet: ["answer.parquet", "application/vnd.apache.parquet"] };
const HELD = "tarnbeck-queries", MOST = 50, MOST_SHOWN = 1000;
const WORDS = "select from where group by order limit having join left inner on as and or not in is null between like distinct count sum avg min max round case when then else end with union all interval now date_trunc asc desc".split(" ");

export async function sqlPage(main, { query, leaving }) {
  const { views } = await get("/views");
  const words = [...new Set([...views.flatMap((view) => [view.view, ...view.keys.map((key) => key.name), ...view.outputs.map((each) => each.name)]), "level", "start", '"end"', ...WORDS])];
  const first = views.find((view) => view.levels[0] !== "all") ?? views[0];
  const text = h("textarea", { id: "query", rows: "7", spellcheck: "false", "aria-label": "SQL query", "aria-autocomplete": "list", "aria-controls": "completions", value: query.get("q") ?? history_()[0] ?? (first ? `select * from ${first.view}\nlimit 20` : "select 1") });
  const complete = new Completion(text, words);
  const result = h("div", { "aria-live": "polite" });
  let show = "table", found = null, running = null, ran = "", chart = null;
  const themed = () => chart?.themed();
  addEventListener("themed", themed);
  leaving.push(() => removeEventListener("themed", themed));

  const run = async () => {
    running?.abort();
    running = new AbortController();
    const asked = text.value, began = performance.now();
    put(result, h("p", { class: "quiet" }, "asking…"));
    try {
      found = await (await sql(asked, "application/json", running.signal)).json();
      ran = asked;
      remember(asked);
      put(past, pastOptions());
      history.replaceState(null, "", `#/sql?${new URLSearchParams({ q: asked })}`);
      draw(performance.now() - began);
    } catch (error) {
      if (error.name !== "AbortError") put(result, trouble(error), mark(text, error.message));
    }
  };

  /** The answer to the query that was run, which may not be the one that stands there now. */
  const saved = async (file, kind) => {
    try {
      save(file, await (await sql(ran, kind)).blob());
    } catch (error) {
      result.append(trouble(error));
    }
  };

  const draw = (took) => {
    const { columns, rows, cuts, truncated } = found;
    const numbers = columns.filter((each) => isNumber(each.type)).map((each) => each.name);
    const time = columns.find((each) => isTime(each.type));
    chart = show === "chart" && time && numbers.length ? plotted(rows, time.name, numbers) : null;
    put(result,
      h("div", { class: "bar" }, choice("Show", ["table", "chart"], show, (kind) => { show = kind; draw(took); }),
        Object.entries(FILES).map(([name, [file, kind]]) => h("button", { type: "button", onclick: () => saved(file, kind) }, name))),
      show === "chart" && !chart ? h("p", { class: "quiet" }, "A chart needs a column of times and one of numbers.") : null,
      chart ? chart.element : table(count(rows.length, "row"), columns.map((each) => each.name), rows.slice(0, MOST_SHOWN).map((row) => columns.map(({ name, type }) => shown(row[name], isTime(type) ? "timestamp" : type))), numbers),
      h("p", { class: "facts" }, h("span", {}, `${count(rows.length, "row")} in ${Math.round(took)} ms`), truncated ? h("span", {}, "more rows were left out: narrow the query, or download") : null,
        Object.entries(cuts).map(([view, cut]) => h("span", { class: "cut" }, `${view} cut `, h("b", {}, Object.entries(cut.offsets).map(([p, o]) => `${p}:${o}`).join(" ") || "0")))));
  };

  const past = h("select", { "aria-label": "earlier queries", onchange: () => { if (past.value) text.value = past.value; text.focus(); } });
  put(past, pastOptions());
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
  put(main, h("h1", {}, "SQL"), h("div", { class: "editor" }, text, complete.list),
    h("div", { class: "bar" }, h("button", { type: "button", class: "main", onclick: run }, "Run"), past, h("span", { class: "quiet" }, "Ctrl+Enter runs, Ctrl+Space completes. All views of one query are read at one moment.")), h("div", { class: "card" }, result));
  leaving.push(() => running?.abort());
  if (query.get("q")) run();
}

const history_ = () => {
  try {
    return JSON.parse(recall(HELD) ?? "[]");
  } catch {
    return [];
  }
};
const pastOptions = () => [h("option", { value: "" }, "earlier queries"), ...history_().map((each) => h("option", { value: each }, each.replace(/\s+/g, " ").slice(0, 80)))];

function remember(asked) {
  keep(HELD, JSON.stringify([asked, ...history_().filter((each) => each !== asked)].slice(0, MOST)));
}

/** Selects what an error points at, where it tells line and column, or names something. */
function mark(text, message) {
  const at = /line (\d+), column (\d+)/i.exec(message), quoted = /unknown \w+ '([^']+)'|"([^"]+)" not found|column "?([\w.]+)"? /i.exec(message);
  const lines = text.value.split("\n");
  let from = -1, to = -1;
  if (at && Number(at[1]) <= lines.length) {
    to = lines.slice(0, Number(at[1]) - 1).reduce((all, line) => all + line.length + 1, 0) + Math.min(Number(at[2]), lines[Number(at[1]) - 1].length);
    from = text.value.slice(0, to).search(/\S+$/);
    if (from < 0) from = Math.max(0, to - 1);
  } else if (quoted) {
    const name = quoted[1] ?? quoted[2] ?? quoted[3];
    from = text.value.toLowerCase().indexOf(name.toLowerCase());
    to = from + name.length;
  }
  if (from < 0) return null;
  text.focus();
  text.setSelectionRange(from, to);
  const line = text.value.slice(0, from).split("\n").length, start = text.value.lastIndexOf("\n", from - 1) + 1;
  return h("pre", { class: "where" }, `${lines[line - 1]}\n${" ".repeat(from - start)}${"^".repeat(Math.max(1, to - from))}`);
}

function plotted(rows, time, numbers) {
  const sorted = [...rows].sort((a, b) => millis(a[time]) - millis(b[time]));
  const times = Float64Array.from(sorted, (row) => millis(row[time]));
  const chart = new Chart(() => {});
  const values = numbers.slice(0, 8).map((name) => [name, Float64Array.from(sorted, (row) => (row[name] === null ? NaN : Number(row[name])))]);
  chart.themed = () => chart.show({ kind: "line", span: 0, speed: [], series: values.map(([name, own], i) => ({ name, colour: colourOf(i), times, values: own })) });
  chart.themed();
  return chart;
}

/** Offers words that begin as the one before the cursor does. */
class Completion {
  constructor(text, words) {
    Object.assign(this, { text, words, found: [], at: 0 });
    this.list = h("ul", { id: "completions", class: "complete", role: "listbox", "aria-label": "completions", hidden: true });
    text.addEventListener("input", () => this.offer(false));
    text.addEventListener("keydown", (event) => this.key(event));
    text.addEventListener("blur", () => setTimeout(() => this.close(), 150));
  }

  begun() {
    return /[\w"]*$/.exec(this.text.value.slice(0, this.text.selectionStart))[0];
  }

  offer(wanted) {
    const begun = this.begun().toLowerCase();
    this.found = begun || wanted ? this.words.filter((word) => word.toLowerCase().startsWith(begun) && word.toLowerCase() !== begun).slice(0, 12) : [];
    this.at = wanted ? 0 : -1;
    this.draw();
  }

  key(event) {
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return this.offer(true);
    }
    if (this.list.hidden || event.ctrlKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) this.at = (Math.max(this.at, steps[event.key] > 0 ? -1 : 0) + steps[event.key] + this.found.length) % this.found.length;
    // Who has chosen nothing wants a new line.
    else if (event.key === "Tab" || (event.key === "Enter" && this.at >= 0)) this.take(this.found[Math.max(0, this.at)]);
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
    this.draw();
  }

  take(word) {
    const to = this.text.selectionStart;
    this.text.setRangeText(word, to - this.begun().length, to, "end");
    this.close();
  }

  close() {
    this.found = [];
    this.draw();
  }

  draw() {
    this.list.hidden = !this.found.length;
    const before = this.text.value.slice(0, this.text.selectionStart).split("\n");
    this.list.style.top = `${12 + before.length * 21}px`;
    this.list.style.left = `${Math.min(12 + before[before.length - 1].length * 8.4, this.text.clientWidth - 200)}px`;
    if (this.at >= 0 && this.found.length) this.text.setAttribute("aria-activedescendant", `completion-${this.at}`);
    else this.text.removeAttribute("aria-activedescendant");
    put(this.list, this.found.map((word, i) => h("li", { id: `completion-${i}`, role: "option", "aria-selected": String(i === this.at), onmousedown: (event) => { event.preventDefault(); this.take(word); this.text.focus(); } }, word)));
  }
}
