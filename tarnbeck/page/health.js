// Whether all is well: every part with its lag and last error, alerts, and where figures are.
import { get } from "./api.js";
import { h, put, table } from "./dom.js";
import { number, rate, seconds } from "./text.js";

const EVERY = 2000;

export async function health(main, { system, leaving }) {
  const parts = h("section", { class: "card" }), alerts = h("section", { class: "card" });
  put(main, h("h1", {}, "Health"), parts, alerts,
    h("p", { class: "quiet" }, "Figures for Prometheus: ", h("a", { href: "/metrics" }, "/metrics"), ". The API: ", h("a", { href: "/docs" }, "/docs"), "."));
  leaving.push(system.listen(({ known }) => put(parts, h("h2", {}, "Parts"), table(`app ${known.app}`, ["part", "state", "records behind", "seconds behind", "rate", "last error, and what to do"], known.parts.map((each) => [
    each.part, h("span", { class: `pill ${["running", "waiting", "done"].includes(each.state) ? "good" : "bad"}` }, each.state), number(each.lag_records), seconds(each.lag_seconds), rate(each.rate),
    each.error ? h("span", { class: "trouble" }, each.error) : "none"]), ["records behind", "seconds behind", "rate"]))));
  let over = false;
  const look = async () => {
    await get("/alerts").then((found) => put(alerts, listed(found)), () => put(alerts));
    if (!over) setTimeout(look, EVERY);
  };
  leaving.push(() => { over = true; });
  await look();
}

function listed(found) {
  return [h("h2", {}, "Alerts"), h("pre", {}, JSON.stringify(found, null, 1))];
}

