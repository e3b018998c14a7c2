// Numbers, times and sizes as people read them.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function number(value, digits = 6) {
  if (value === null || value === undefined) return "·";
  const n = Number(value) || (Number.isNaN(Number(value)) ? NaN : 0);
  if (!Number.isFinite(n)) return String(value);
  if (Number.isInteger(n)) return whole.format(n);
  const places = Math.max(0, Math.min(digits, digits - Math.floor(Math.log10(Math.abs(n))) - 1));
  return new Intl.NumberFormat("en", { maximumFractionDigits: Math.min(places, 12) }).format(n);
}

/** A number with all its digits: exact ones come as text, which no number here could hold. */
function exact(value) {
  const [, sign, whole_, rest] = /^(-?)(\d+)(\.\d+)?$/.exec(value) ?? [];
  return whole_ === undefined ? value : `${sign}${whole_.replace(/\B(?=(\d{3})+$)/g, ",")}${rest ?? ""}`;
}

/** A value of any type; what is text stays as it is. */
export function shown(value, type = "") {
  if (value === null || value === undefined) return "·";
  if (isNumber(type)) return typeof value === "string" ? exact(value) : number(value, 12);
  if (type === "timestamp") return moment(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const isNumber = (type) => /^(int|bigint|double|decimal|float|hugeint|smallint|tinyint|ubigint|uinteger|integer)/i.test(type);
export const isTime = (type) => /^timestamp/i.test(type);

/** Milliseconds of a time; one that tells no zone is UTC, as all times here are. */
export const millis = (value) => Date.parse(typeof value === "string" && !/(Z|[+-]\d\d:?\d\d)$/.test(value) && value.includes("T") ? `${value}Z` : value);

/** A time of the answer in UTC, as short as it can be told. */
export function moment(value) {
  const text = new Date(typeof value === "string" ? millis(value) : value).toISOString();
  return text.replace("T", " ").replace(/\.000Z$|Z$/, "").replace(/ 00:00:00$/, "");
}

export const rate = (perSecond) => `${perSecond >= 100 ? whole.format(perSecond) : number(perSecond, 2)}/s`;
export const seconds = (value) => (value < 1 ? `${Math.round(value * 1000)} ms` : value < 120 ? `${number(value, 2)} s` : `${whole.format(value / 60)} min`);
export const count = (n, one, many = `${one}s`) => `${whole.format(n)} ${n === 1 ? one : many}`;

const UNITS = { s: 1, second: 1, m: 60, minute: 60, h: 3600, hour: 3600, d: 86400, day: 86400, week: 604800, month: 2629800, year: 31557600 };

/** How many seconds a length is, such as `10 minutes`, `1h` or `day`; null for `all` and what is no length. */
export function length(text) {
  const found = /^\s*(\d+(?:\.\d+)?)?\s*([a-z]+?)s?\s*(?: every .*)?$/i.exec(text);
  const unit = found && (UNITS[found[2]] ?? UNITS[found[2].toLowerCase()]);
  return unit ? Number(found[1] ?? 1) * unit : null;
}
