// The HTTP API as the page uses it: nothing here that curl could not do.

const HELD = "tarnbeck-token";

/** The token that changes are allowed with, out of the address that `tarnbeck page` gives. */
export function takeToken() {
  const found = /[#&]token=([\w-]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(HELD, found[1]);
  history.replaceState(null, "", "#/flow");
}

export const mayChange = () => sessionStorage.getItem(HELD) !== null;
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
    if (error.name === "AbortError") throw error;
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
    method: "POST", body: JSON.stringify(work), headers: { authorization: `Bearer ${sessionStorage.getItem(HELD)}` },
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

/** Follows a question; comes again by itself when the server was gone. Gives a function that ends it. */
export function follow(view, parameters, { update, lost, refused }) {
  let source = null, again = 0, over = false;
  const open = () => {
    source = new EventSource(`${pathOf(view)}/live?${parameters}`);
    source.onmessage = (event) => update(JSON.parse(event.data));
    source.addEventListener("failure", (event) => refused(new Error(JSON.parse(event.data).error.message)));
    source.onerror = () => {
      lost();
      if (source.readyState !== EventSource.CLOSED || over) return;
      // A browser gives up when a server refuses: whether for good, the server tells in words.
      get(`${pathOf(view)}?${parameters}`).then(retry, (error) => (error.status === 400 || error.status === 404 ? refused(error) : retry()));
    };
  };
  const retry = () => {
    if (!over) again = setTimeout(open, 1000);
  };
  open();
  return () => {
    over = true;
    clearTimeout(again);
    source.close();
  };
}
