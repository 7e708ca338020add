// Builds elements. Text only ever becomes a text node, so no label can turn into markup.

// h makes an element. Attributes are set as such, "on…" as listeners, and true means present.
// Children are elements or text; null and false are left out.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// label shows text from the API. It keeps its direction to itself: marks in it can't reorder the page.
export const label = (text, attributes = {}) => h("bdi", { dir: "auto", class: "label", ...attributes }, String(text));

export const byId = (id) => document.getElementById(id);

// announce tells screen readers, once.
export function announce(text) {
  byId("announcer").textContent = "";
  requestAnimationFrame(() => { byId("announcer").textContent = text; });
}
