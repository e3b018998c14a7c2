// Versions of views: which one answers, what differs, proofs, switches and the way back.
import { get, job, mayChange, NO_TOKEN } from "./api.js";
import { confirmed, h, put, redraw, table, trouble } from "./dom.js";
import { count, moment, number, seconds } from "./text.js";

const EVERY = 2000;
const LOOK = { live: "good", ready: "good", behind: "warn", building: "warn" };

export async function versions(main, { system, leaving }) {
  const told = h("div", {}), going = h("div", {});
  const list = h("div", {});
  put(main, h("h1", {}, "Versions"), h("p", { class: "quiet" }, "A changed view is built beside the one that answers (", h("code", {}, "tarnbeck deploy app.py"), "), proven, and switched to in an instant. Both stay fed, so the way back is as short."),
    mayChange() ? null : h("p", { class: "trouble" }, NO_TOKEN), told, going, list);
  let busy = false, over = false;
  // What somebody else asked for, or the node itself; one's own job has its bar already.
  leaving.push(system.listen(({ known }) => redraw(going, busy ? [] : known.jobs.map(bar))));
  const draw = async () => {
    const { views } = await get("/versions");
    redraw(list, views.map((view) => card(view, act)));
  };
  /** Does a job and tells of it; what is drawn does not change under one's hands meanwhile. */
  const act = async (question, work, report) => {
    if (busy) return;
    const reason = question === null ? "" : await confirmed(question);
    if (reason === null) return;
    busy = true;
    put(going);
    for (const button of list.querySelectorAll("button")) button.disabled = true;
    redraw(told, bar({ job: work.do, step: "asking" }));
    try {
      const done = await job(reason ? { ...work, reason } : work, (update) => redraw(told, bar({ job: work.do, ...update })));
      put(told, report(done));
    } catch (error) {
      put(told, trouble(error));
    }
    busy = false;
    await draw().catch(() => {});
  };
  const beat = async () => {
    if (!busy && !document.hidden) await draw().catch(() => {});
    if (!over) setTimeout(beat, EVERY);
  };
  leaving.push(() => { over = true; });
  await draw();
  setTimeout(beat, EVERY);
}

/** How far a job is. */
function bar({ job, view, step, done, left }) {
  const words = [job, view, step, left ? `${seconds(left)} left` : null].filter(Boolean).join(", ");
  return h("p", { class: "going" }, h("progress", { max: "1", value: done ?? null, "aria-label": words }), ` ${words}`);
}

function card(view, act) {
  const may = mayChange(), live = view.versions.find((each) => each.live);
  const button = (text, run, main = false) => h("button", { type: "button", class: main ? "main" : null, disabled: !may, onclick: run }, text);
  const others = view.versions.filter((each) => !each.live);
  return h("section", { class: "card", "aria-label": view.view },
    h("div", { class: "bar" }, h("h2", {}, view.view),
      view.switches.length ? button("Roll back", () => act(`Take the last switch of '${view.view}' back?`, { do: "rollback", view: view.view, who: "page" }, () => done(`${view.view} is rolled back`))) : null,
      button("Replay", () => act(`Build another version of '${view.view}' from history, beside the one that answers?`, { do: "replay", view: view.view }, (found) => done(found.versions.map((each) => `${each.view}: ${count(each.records, "record")} in ${number(each.seconds)} s`).join("\n"))))),
    table(`version ${live?.version ?? "·"} answers`, ["version", "state", "declared", "up to", "batch", "behind", "actions"], view.versions.map((each) => [
      each.version, h("span", { class: `pill ${LOOK[each.state] ?? ""}` }, each.state), each.declared ? "yes" : "no", each.cut, each.generation_cut, each.lag_records === null ? "·" : number(each.lag_records),
      each.live ? "" : [
        button("Verify", () => act(null, { do: "verify", view: view.view, version: each.version }, verified)),
        button("Switch to it", () => act(`Let version ${each.version} of '${view.view}' answer? ${live ? `Version ${live.version} stays fed.` : ""}`, { do: "switch", views: [view.view], version: each.version, who: "page" }, () => done(`version ${each.version} of ${view.view} answers now`)), true),
        button("Drop", () => act(`Drop version ${each.version} of '${view.view}'? It can be built again from history.`, { do: "drop", view: view.view, version: each.version }, () => done(`version ${each.version} dropped`)))]]), ["version", "behind"]),
    others.filter((each) => each.changes.length).map((each) => [h("p", { class: "quiet" }, `version ${each.version}, against the one that answers:`), h("pre", {}, each.changes.join("\n"))]),
    view.switches.length ? table("switches, newest first", ["when", "from", "to", "by", "reason"], [...view.switches].reverse().slice(0, 20).map((each) => [moment(each.at / 1000), each.before, each.after, each.who, each.reason])) : null);
}

const done = (text) => h("p", { class: "done" }, text);

function verified(found) {
  const verdict = found.equal ? `equal: ${count(found.rows, "row")} of both versions are the same` : `${count(found.differs, "row")} differ, ${number(found.only_old)} only in version ${found.old}, ${number(found.only_new)} only in version ${found.new}`;
  const cells = (row) => (row === null ? "·" : Object.entries(row).map(([name, value]) => `${name} ${value}`).join(", "));
  return [h("p", { class: found.equal ? "done" : "trouble" }, `${found.view}: ${verdict}, up to ${found.cut}`),
    table("columns", ["column", "same", "differ"], [...found.columns.map((each) => [each.name, number(each.same), number(each.differs)]), ...[...found.columns_old, ...found.columns_new].map((name) => [name, "·", "in one version only"])], ["same", "differ"]),
    found.samples.length ? table("rows that differ", ["window", "keys", `version ${found.old}`, `version ${found.new}`], found.samples.map((each) => [moment(each.start / 1000), each.keys.join(" · "), cells(each.old), cells(each.new)])) : null];
}
