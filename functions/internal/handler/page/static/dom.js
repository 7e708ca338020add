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

// plain makes characters visible that show nothing themselves, or turn the text around them about.
export const plain = (text) =>
  String(text).replace(/[\p{Cc}\p{Bidi_Control}]/gu, (mark) => `[U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

// label shows text from the API, in a direction of its own.
export const label = (text) => h("bdi", { dir: "auto", class: "label" }, plain(text));

export const byId = (id) => document.getElementById(id);

// announce tells screen readers, once.
export function announce(text) {
  byId("announcer").textContent = "";
  requestAnimationFrame(() => { byId("announcer").textContent = text; });
}
