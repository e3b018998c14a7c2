// The frame of the page: which part is shown, light or dark, and whether all is well.
import { get, takeToken } from "./api.js";
import { h, put, redraw, trouble } from "./dom.js";
import { flow } from "./flow.js";
import { health } from "./health.js";
import { keep, recall } from "./keep.js";
import { sqlPage } from "./sql.js";
import { streams } from "./streams.js";
import { versions } from "./versions.js";
import { view } from "./view.js";

const PAGES = { flow: ["Flow", flow], view: ["Views", view], sql: ["SQL", sqlPage], streams: ["Streams", streams], versions: ["Versions", versions], health: ["Health", health] };
const EVERY = 1000, PATIENCE = 5000;

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
  let told = [];
  try {
    // A server that was stopped answers nothing at all: what is shown must not look fresh for that.
    const found = { ...(await get("/flow", AbortSignal.timeout(PATIENCE))), at: performance.now() };
    // Rates are told over some seconds: layers commit in steps.
    system.past = [...(system.past ?? []).filter((each) => found.at - each.at < 10000), found];
    system.before = system.past[0];
    system.known = found;
    document.getElementById("app").textContent = found.app;
    const broken = found.parts.filter((part) => !["running", "waiting", "done"].includes(part.state));
    badge.textContent = broken.length ? `${broken.map((part) => `${part.part} ${part.state}`).join(", ")}` : "all parts run";
    badge.className = broken.length ? "bad" : "";
    told = [...system.listeners];
  } catch (error) {
    badge.textContent = error.status === 404 ? "no node here" : "no connection";
    badge.className = "bad";
  }
  setTimeout(watch, document.hidden ? 5 * EVERY : EVERY);
  for (const listener of told) listener(system);
}

let leave = () => {};

async function show() {
  leave();
  leave = () => {};
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = (path || "flow").split("/").map(plain);
  const page = PAGES[name] ?? PAGES.flow;
  redraw(document.getElementById("nav"), Object.entries(PAGES).map(([key, [text]]) =>
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
  if (left) return leaving.forEach((end) => end());
  // Each choice is a new address, and whoever made it wants to go on from there.
  const held = document.activeElement?.closest("main [name]")?.name;
  put(document.getElementById("main"), place);
  if (held) place.querySelector(`[name="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
}

/** A part of an address in plain text; one that somebody cut off is taken as it is. */
function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.documentElement.dataset.theme = recall("tarnbeck-theme") ?? (dark.matches ? "dark" : "light");
    dispatchEvent(new Event("themed"));
  };
  dark.addEventListener("change", apply);
  document.getElementById("theme").addEventListener("click", () => {
    keep("tarnbeck-theme", document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    apply();
  });
  apply();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // An address of its own would lead to another page.
  event.preventDefault();
  document.getElementById("main").focus();
});
takeToken();
theme();
addEventListener("hashchange", show);
show();
watch();
