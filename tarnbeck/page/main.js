// The frame of the page: which part is shown, light or dark, and whether all is well.
import { get, takeToken } from "./api.js";
import { h, put, trouble } from "./dom.js";
import { flow } from "./flow.js";
import { health } from "./health.js";
import { sqlPage } from "./sql.js";
import { streams } from "./streams.js";
import { versions } from "./versions.js";
import { view } from "./view.js";

const PAGES = { flow: ["Flow", flow], view: ["Views", view], sql: ["SQL", sqlPage], streams: ["Streams", streams], versions: ["Versions", versions], health: ["Health", health] };
const EVERY = 1000;

/** What the whole page knows of the system: the newest `/flow`, told to whoever listens. */
const system = {
  known: null,
  before: null,
  listeners: new Set(),
  listen(listener) {
    this.listeners.add(listener);
    if (this.known) listener(this);
    return () => this.listeners.delete(listener);
  },
};

async function watch() {
  const badge = document.getElementById("health");
  try {
    const found = { ...(await get("/flow")), at: performance.now() };
    // Rates are told over some seconds: layers commit in steps.
    system.past = [...(system.past ?? []).filter((each) => found.at - each.at < 10000), found];
    system.before = system.past[0];
    system.known = found;
    document.getElementById("app").textContent = found.app;
    const broken = found.parts.filter((part) => !["running", "waiting", "done"].includes(part.state));
    badge.textContent = broken.length ? `${broken.map((part) => `${part.part} ${part.state}`).join(", ")}` : "all parts run";
    badge.className = broken.length ? "bad" : "";
    for (const listener of system.listeners) listener(system);
  } catch (error) {
    badge.textContent = error.status === 404 ? "no node here" : "no connection";
    badge.className = "bad";
  }
  setTimeout(watch, document.hidden ? 5 * EVERY : EVERY);
}

let leave = () => {};

async function show() {
  leave();
  leave = () => {};
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = (path || "flow").split("/").map(decodeURIComponent);
  const page = PAGES[name] ?? PAGES.flow;
  put(document.getElementById("nav"), Object.entries(PAGES).map(([key, [text]]) =>
    h("a", { href: `#/${key}`, "aria-current": page === PAGES[key] ? "page" : null }, text)));
  document.title = `${page[0]} · tarnbeck`;
  // A page draws into a place of its own, which is shown when it is ready, unless another was asked for meanwhile.
  const place = h("div", {}), leaving = [];
  let left = false;
  leave = () => {
    left = true;
    leaving.forEach((end) => end());
  };
  try {
    await page[1](place, { rest, query: new URLSearchParams(query), system, leaving });
  } catch (error) {
    put(place, h("h1", {}, page[0]), trouble(error));
    const again = setTimeout(show, 2000);
    leaving.push(() => clearTimeout(again));
  }
  if (left) leaving.forEach((end) => end());
  else put(document.getElementById("main"), place);
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = localStorage.getItem("tarnbeck-theme") ?? (dark.matches ? "dark" : "light");
    dispatchEvent(new Event("themed"));
  };
  dark.addEventListener("change", apply);
  document.getElementById("theme").addEventListener("click", () => {
    localStorage.setItem("tarnbeck-theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  apply();
}

takeToken();
theme();
addEventListener("hashchange", show);
show();
watch();
