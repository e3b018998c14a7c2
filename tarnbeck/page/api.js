// The HTTP API as the page uses it: nothing here that curl could not do.

import { keep, recall } from "./keep.js";

const HELD = "tarnbeck-token", TAB = "sessionStorage";

/** The token that changes are allowed with, out of the address that `tarnbeck page` gives. */
export function takeToken() {
  const found = /[#&]token=([^&]+)/.exec(location.hash);
  if (!found) return;
  keep(HELD, decodeURIComponent(found[1]), TAB);
  history.replaceState(null, "", "#/flow");
}

export const mayChange = () => recall(HELD, TAB) !== null;
export const NO_TOKEN = "This page may look but not change. Run `tarnbeck page` in the app's folder and open the address that it prints.";

async function checked(response) {
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error.message;
  } catch { /* a proxy in between may answer in its own words */ }
  throw Object.assign(new Error(message), { status: response.status });
}

async function asked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted && options.signal.reason?.name !== "TimeoutError") throw error;
    throw Object.assign(new Error("The server does not answer.\n  Is `tarnbeck up` running? This page goes on when it is."), { status: 0 });
  }
  return checked(response);
}

export const get = async (path, signal) => (await asked(path, { signal })).json();
export const getAs = async (path, kind) => (await asked(path, { headers: { accept: kind } })).blob();
export const sql = async (text, kind = "application/json", signal = undefined) =>
  asked("/sql", { method: "POST", body: text, headers: { "content-type": "text/plain", accept: kind }, signal });
export const send = async (stream, text) =>
  (await asked(`/streams/${encodeURIComponent(stream)}/events`, { method: "POST", body: text, headers: { "content-type": "application/json" } })).json();

/** Runs a job of the node; `told` gets each update, the result is given in the end. */
export async function job(work, told = () => {}) {
  if (!mayChange()) throw new Error(NO_TOKEN);
  const response = await asked("/control/jobs", {
    method: "POST", body: JSON.stringify(work), headers: { authorization: `Bearer ${recall(HELD, TAB)}` },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("The node ended before the job did.");
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      const update = JSON.parse(line);
      if (update.error) throw new Error(update.error.message);
      if ("result" in update) return update.result;
      told(update);
    }
  }
}

export const pathOf = (view) => `/views/${encodeURIComponent(view)}`;

const LONGEST_PAUSE = 30000;

/**
 * Follows a question; comes again by itself when the server was gone. Gives a function that ends it.
 *
 * A browser has few connections to a server for all its tabs together: a tab that nobody sees gives its own back.
 */
export function follow(view, parameters, { update, lost, refused }) {
  let source = null, again = 0, over = false, pause = 1000;
  const close = () => {
    clearTimeout(again);
    source?.close();
    source = null;
  };
  const open = () => {
    close();
    if (over || document.hidden) return;
    source = new EventSource(`${pathOf(view)}/live?${parameters}`);
    source.onmessage = (event) => {
      pause = 1000;
      update(JSON.parse(event.data));
    };
    source.addEventListener("failure", (event) => {
      close();
      refused(new Error(JSON.parse(event.data).error.message));
      retry();
    });
    source.onerror = () => {
      lost();
      if (source?.readyState !== EventSource.CLOSED) return;
      // A browser gives up when a server refuses: whether for good, the server tells in words.
      get(`${pathOf(view)}?${parameters}`).then(retry, (error) => {
        if (over) return;
        if (error.status) refused(error);
        if (error.status !== 400 && error.status !== 404) retry();
      });
    };
  };
  const retry = () => {
    if (over) return;
    clearTimeout(again);
    again = setTimeout(open, pause);
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    over = true;
    document.removeEventListener("visibilitychange", open);
    close();
  };
}
