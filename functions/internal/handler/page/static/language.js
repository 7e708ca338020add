// Words, numbers and times in the holder's language. Times are UTC, and say so.
import { words } from "./words.js";

const storageName = "sekisho.language";
let language = chosen();

function chosen() {
  let kept = "";
  try { kept = localStorage.getItem(storageName) ?? ""; } catch { /* storage is switched off */ }
  const wanted = [kept, ...navigator.languages].map((tag) => tag.slice(0, 2).toLowerCase());
  return wanted.find((tag) => Object.hasOwn(words, tag)) ?? "en";
}

export const currentLanguage = () => language;

export function setLanguage(tag) {
  language = Object.hasOwn(words, tag) ? tag : "en";
  try { localStorage.setItem(storageName, language); } catch { /* then it holds until the page is left */ }
}

// t is a text in the holder's language, with its places filled in.
export const t = (name, values = {}) =>
  words[language][name].replace(/\{(\w+)\}/g, (place, value) => (Object.hasOwn(values, value) ? String(values[value]) : place));

// around is t with an element in one of the places.
export function around(name, place, element) {
  const [before, after] = t(name, { [place]: "\u0000" }).split("\u0000");
  return [before, element, after];
}

export const number = (n, options) => new Intl.NumberFormat(language, options).format(n);

export const percent = (part, whole) =>
  number(whole > 0 ? part / whole : 0, { style: "percent", maximumFractionDigits: part > 0 && part < whole / 10 ? 1 : 0 });

export const dateTime = (ms) =>
  new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone: "UTC" }).format(ms) + " UTC";

// monthName and dayName read YYYY-MM and YYYY-MM-DD.
export const monthName = (month) =>
  new Intl.DateTimeFormat(language, { year: "numeric", month: "short", timeZone: "UTC" }).format(Date.parse(`${month}-01`));

export const dayName = (day) =>
  new Intl.DateTimeFormat(language, { month: "short", day: "numeric", timeZone: "UTC" }).format(Date.parse(day));

// duration is a time span in its two largest units, rounded up to the last of them.
export function duration(ms) {
  const units = [["day", 86400000], ["hour", 3600000], ["minute", 60000], ["second", 1000]];
  const first = Math.max(0, units.findIndex(([, length]) => ms >= length));
  const smallest = units[ms >= 1000 ? Math.min(first + 1, 3) : 3];
  let left = Math.ceil(Math.max(0, ms) / smallest[1]) * smallest[1];
  const parts = [];
  for (const [unit, length] of ms >= 1000 ? units.slice(first, first + 2) : units.slice(3)) {
    const n = Math.floor(left / length);
    left -= n * length;
    if (n > 0 || parts.length === 0) parts.push(number(n, { style: "unit", unit, unitDisplay: "long" }));
  }
  return parts.join(" ");
}
