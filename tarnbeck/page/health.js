// Whether all is well: every part with its lag and last error, alerts, and where figures are.
import { get } from "./api.js";
import { h, put, redraw, table, trouble } from "./dom.js";
import { count, moment, number, rate, seconds, shown } from "./text.js";

const EVERY = 2000;

export async function health(main, { system, leaving }) {
  const parts = h("section", { class: "card" }), alerts = h("section", { class: "card" });
  put(main, h("h1", {}, "Health"), parts, alerts,
    h("p", { class: "quiet" }, "Figures for Prometheus: ", h("a", { href: "/metrics" }, "/metrics"), ". The API: ", h("a", { href: "/docs" }, "/docs"), "."));
  leaving.push(system.listen(({ known }) => redraw(parts, h("h2", {}, "Parts"), table(`app ${known.app}`, ["part", "state", "records behind", "seconds behind", "rate", "last error, and what to do"], known.parts.map((each) => [
    each.part, h("span", { class: `pill ${["running", "waiting", "done"].includes(each.state) ? "good" : "bad"}` }, each.state), number(each.lag_records), seconds(each.lag_seconds), rate(each.rate),
    each.error ? h("span", { class: "trouble" }, each.error) : "none"]), ["records behind", "seconds behind", "rate"]))));
  let over = false;
  const look = async () => {
    await get("/alerts").then((found) => redraw(alerts, listed(found)), (error) => redraw(alerts, h("h2", {}, "Alerts"), trouble(error)));
    if (!over) setTimeout(look, EVERY);
  };
  leaving.push(() => { over = true; });
  await look();
}

function listed(found) {
  if (!found.rules.length) return [h("h2", {}, "Alerts"), h("p", { class: "quiet" }, "None are declared: app.alert(…)")];
  const keys = found.rules.flatMap((rule) => rule.keys.map((key) => ({ rule: rule.rule, ...key })));
  return [h("h2", {}, "Alerts"),
    table("rules", ["rule", "state", "on", "condition", "lasting", "told to", "error"], found.rules.map((rule) => [
      rule.rule, pill(rule.state), rule.per ? `${rule.on} per ${rule.per}` : rule.on, rule.when, rule.lasting, rule.to.join(", "),
      rule.error ? h("span", { class: "trouble" }, rule.error) : "none"])),
    keys.length > 0 && table("pending and firing", ["rule", "state", "keys", "since", "values"], keys.map((key) => [
      key.rule, pill(key.state), pairs(key.keys), moment(key.since), pairs(key.values)])),
    found.history.length > 0 && table("what was told", ["at", "rule", "state", "keys", "values", "deliveries"], found.history.map((notice) => [
      moment(notice.at), notice.rule, pill(notice.state), pairs(notice.keys), pairs(notice.values), notice.deliveries.map(delivered).join("; ")]))];
}

const pill = (state) => h("span", { class: `pill ${state === "firing" ? "bad" : "good"}` }, state);
const pairs = (values) => Object.entries(values).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${shown(value)}`).join(", ");
const delivered = ({ destination, state, tries, error }) => `${destination}: ${state}${tries > 1 ? `, ${count(tries, "try", "tries")}` : ""}${error ? `, ${error.split("\n")[0]}` : ""}`;
