// What the browser keeps for the page; one that keeps nothing, or is full, only forgets.

const MEMORY = new Map();

/** What was kept under a name, or null. */
export function recall(name, place = "localStorage") {
  try {
    return globalThis[place].getItem(name);
  } catch {
    return MEMORY.get(name) ?? null;
  }
}

export function keep(name, value, place = "localStorage") {
  MEMORY.set(name, value);
  try {
    globalThis[place].setItem(name, value);
  } catch { /* kept in memory, until the page is left */ }
}
