// The same question in Python, for curl and in SQL.
import { parameters } from "./question.js";

const quoted = (text) => JSON.stringify(String(text));
const literal = (text) => `'${String(text).replaceAll("'", "''")}'`;
const name = (text) => (/^[a-z_][a-z0-9_]*$/.test(text) && !RESERVED.has(text) ? text : `"${text.replaceAll('"', '""')}"`);
const RESERVED = new Set(["end", "select", "from", "where", "order", "group", "by", "all", "first", "last", "table", "user", "time"]);

export function python(view, asked) {
  const words = [quoted(asked.view)];
  const value = (values) => (values.length === 1 ? quoted(values[0]) : `[${values.map(quoted).join(", ")}]`);
  const keys = Object.entries(asked.keys);
  if (keys.length) words.push(`keys={${keys.map(([key, values]) => `${quoted(key)}: ${value(values)}`).join(", ")}}`);
  for (const [key, given] of parameters(view, asked)) if (!key.startsWith("key.")) words.push(`${key}=${key === "limit" ? given : quoted(given)}`);
  return `import tarnbeck as tb\n\nwith tb.connect(${quoted(location.origin)}) as client:\n    answer = client.query(${words.join(", ")})\nprint(answer.pandas())`;
}

export const curl = (view, asked) => `curl '${location.origin}/views/${encodeURIComponent(asked.view)}?${parameters(view, asked)}'`;

export function sql(view, asked) {
  if (asked.against) return "-- two ranges side by side are asked for in Python or over HTTP";
  const tests = [];
  for (const [key, values] of Object.entries(asked.keys)) tests.push(`${name(key)} in (${values.map(literal).join(", ")})`);
  if (view.levels.length > 1) tests.push(`level = ${literal(asked.per)}`);
  const since = asked.since ? `timestamptz ${literal(asked.since)}` : asked.last ? `now() - interval ${literal(spelled(asked.last))}` : null;
  if (since) tests.push(`"end" > ${since}`);
  if (asked.until) tests.push(`start < timestamptz ${literal(asked.until)}`);
  const order = [...view.keys.map((key) => name(key.name)), ...(view.levels[0] === "all" ? [] : ["start"])];
  const source = asked.as_of ? `${name(asked.view)}(as_of => ${literal(asked.as_of)})` : name(asked.view);
  return `select * from ${source}${tests.length ? `\nwhere ${tests.join("\n  and ")}` : ""}${order.length ? `\norder by ${order.join(", ")}` : ""}`;
}

const UNITS = { m: "minutes", h: "hours", d: "days", s: "seconds" };
const spelled = (length) => length.replace(/^(\d+)([smhd])$/, (_, n, unit) => `${n} ${UNITS[unit]}`);
