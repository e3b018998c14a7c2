// The rows of an answer, kept up to date, and what charts draw of them.

/** All rows of a question by the columns that tell them apart. */
export class Rows {
  constructor() {
    this.columns = [];
    this.rows = new Map();
    this.facts = {};
  }

  /** Takes an update of a live question: everything anew, or what changed. */
  update(told) {
    if (told.reset) {
      this.rows.clear();
      this.columns = told.columns;
    }
    this.names = this.columns.slice(0, told.keys).map((column) => column.name);
    for (const { row } of told.rows) this.rows.set(this.key(row), row);
    for (const row of told.removed) this.rows.delete(this.key(row));
    this.facts = told;
  }

  /** Takes a whole answer. */
  answer(found) {
    this.columns = found.columns;
    this.names = this.columns.map((column) => column.name);
    this.rows = new Map(found.rows.map((row, i) => [i, row]));
    this.facts = found;
  }

  key(row) {
    return JSON.stringify(this.names.map((name) => row[name]));
  }

  /** The rows, ordered by time. */
  ordered() {
    const found = [...this.rows.values()];
    return found.length && "start" in found[0] ? found.sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0)) : found;
  }
}

const COLOURS = 8;
const style = getComputedStyle(document.documentElement);
export const colourOf = (i) => style.getPropertyValue(`--series-${i % COLOURS}`).trim();

export const named = (view, row) => view.keys.map((key) => (row[key.name] === "" ? '""' : row[key.name] ?? "·")).join(" · ") || view.view;

/** Series of one column, or of candles, one for each key. */
export function series(view, rows, column, candles) {
  const groups = new Map();
  for (const row of rows) {
    const name = named(view, row);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, own], i) => {
    const list = (column_) => Float64Array.from(own, (row) => (row[column_] === null ? NaN : Number(row[column_])));
    const made = { name, keys: view.keys.map((key) => [key.name, own[0][key.name]]), colour: colourOf(i), times: Float64Array.from(own, (row) => Date.parse(row.start)), values: list(column) };
    if (candles) [made.open, made.high, made.low, made.close] = candles.map(list);
    return made;
  });
}

/** The ranges of windows in which all layers together tell something else than the batch layer alone. */
export function fromSpeed(view, rows, batch) {
  const names = [...view.keys.map((key) => key.name), "start"];
  const key = (row) => JSON.stringify(names.map((name) => row[name]));
  const known = new Map(batch.map((row) => [key(row), row]));
  const starts = new Map();
  for (const row of rows) {
    const other = known.get(key(row));
    if (!other || view.outputs.some(({ name }) => JSON.stringify(other[name]) !== JSON.stringify(row[name]))) starts.set(Date.parse(row.start), Date.parse(row.end));
  }
  const joined = [];
  for (const [start, end] of [...starts].sort(([a], [b]) => a - b)) {
    const last = joined[joined.length - 1];
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else joined.push([start, end]);
  }
  return joined;
}
