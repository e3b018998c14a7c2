// Elements made by functions: text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") || name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...real(children));
  return element;
}

const real = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** An HTML element with its attributes, listeners (`onclick`) and children. */
export const h = (tag, given = {}, ...children) => filled(document.createElement(tag), given, children);

/** The same for pictures. */
export const s = (tag, given = {}, ...children) => filled(document.createElementNS(SVG, tag), given, children);

/** Puts new children into an element. */
export function put(element, ...children) {
  element.replaceChildren(...real(children));
  return element;
}

/**
 * Draws what an element shows anew, and keeps every part that is of the same kind in its place: whoever stands on a
 * link, has scrolled or has marked a text stays there. The children must be of no further use to whoever made them.
 */
export function redraw(element, ...children) {
  const wanted = real(children).map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  const own = [...element.childNodes];
  wanted.forEach((child, i) => {
    if (i >= own.length) element.append(child);
    else if (own[i].nodeName === child.nodeName && own[i].type === child.type) turned(own[i], child);
    else own[i].replaceWith(child);
  });
  own.slice(wanted.length).forEach((each) => each.remove());
  return element;
}

const PROPERTIES = ["onclick", "onchange", "checked"];

function turned(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  // The policy of the page forbids styles as attributes.
  if (old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  for (const name of PROPERTIES) if (old[name] !== fresh[name]) old[name] = fresh[name];
  redraw(old, [...fresh.childNodes]);
}

/** A labelled choice; `options` are values or [value, text]. */
export function choice(label, options, value, changed) {
  const select = h("select", { name: label, onchange: () => changed(select.value) },
    options.map((each) => {
      const [own, text] = Array.isArray(each) ? each : [each, each];
      return h("option", { value: own, selected: own === value }, text);
    }));
  return h("label", { class: "field" }, h("span", {}, label), select);
}

/** A labelled switch. */
export function toggle(label, checked, changed, disabled = false) {
  const box = h("input", { type: "checkbox", name: label, checked, disabled, onchange: (event) => changed(event.target.checked) });
  return h("label", { class: "toggle" }, box, label);
}

/** A table of texts and elements; columns of numbers stand to the right. */
export function table(caption, names, rows, numbers = []) {
  const right = new Set(numbers);
  const cell = (tag, name, content) => h(tag, { class: right.has(name) ? "number" : null, scope: tag === "th" ? "col" : null }, content);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {}, h("caption", {}, caption),
      h("thead", {}, h("tr", {}, names.map((name) => cell("th", name, name)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((content, i) => cell("td", names[i], content ?? "·")))))));
}

/** What went wrong, told where it happened. */
export const trouble = (error) => h("p", { class: "trouble", role: "alert" }, String(error.message ?? error));

/** Asks before something is changed; gives the reason that was written, or null. */
export function confirmed(question, reason = true) {
  const words = h("input", { type: "text", maxlength: "200", autocomplete: "off" });
  const box = h("dialog", { "aria-label": question },
    h("form", { method: "dialog" }, h("p", {}, question),
      reason ? h("label", { class: "field" }, h("span", {}, "Reason, which is kept"), words) : null,
      // The first button that submits is the one that Enter presses.
      h("menu", {}, h("button", { type: "button", onclick: () => box.close("no") }, "Cancel"), h("button", { value: "yes", class: "main" }, "Do it"))));
  document.body.append(box);
  box.showModal();
  return new Promise((done) => box.addEventListener("close", () => {
    done(box.returnValue === "yes" ? words.value : null);
    box.remove();
  }));
}

/** A function that draws once per frame, however often it is called before that. */
export function perFrame(draw) {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      draw();
    });
  };
}

/** Saves content as a file of this name. */
export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
