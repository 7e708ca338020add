// Which tools are on. A switch is saved at once, and goes back if that fails.
import { Failed, requests } from "./api.js";
import { announce, h, label, plain } from "./dom.js";
import { around, number, t } from "./language.js";

const put = "PUT v1/user/tool-settings";

export async function tools(page) {
  const answer = await page.load(requests.tools[0]);
  const board = { page, settings: answer.body, etag: answer.etag, saving: Promise.resolve(), switches: [] };
  const sum = h("p", { id: "tools-sum" });
  board.switches.push(() => { sum.textContent = sumOf(board.settings); });
  const categories = [...new Set(board.settings.tools.map((tool) => tool.category))].sort();
  const element = h("div", {}, h("h1", {}, t("view.tools")), h("p", {}, t("tools.why")), sum, categories.map((name) => category(board, name)));
  show(board);
  return element;
}

// show sets every switch and sum as the settings are.
const show = (board) => { for (const update of board.switches) update(); };

function sumOf({ tools: all }) {
  const on = all.filter((tool) => tool.enabled);
  const total = (what) => number(on.reduce((sum, tool) => sum + tool[what], 0));
  return t("tools.sum", { on: number(on.length), all: number(all.length), bytes: total("list_bytes"), tokens: total("estimated_tokens") });
}

function category(board, name) {
  const members = () => board.settings.tools.filter((tool) => tool.category === name);
  const input = h("input", { type: "checkbox", role: "switch", onchange: () => {
    const on = input.checked; // now: the switch may have moved on by the time that this is saved
    change(board, name, element, (off) => switchCategory(off, name, members(), on));
  } });
  const element = h("section", { class: "card", "data-category": name },
    h("h2", {}, h("label", { class: "switch" }, input, h("span", {}, around("tools.category", "category", label(name))))),
    h("ul", { class: "tools" }, members().map((tool) => row(board, tool, `about-${board.settings.tools.indexOf(tool)}`))));
  board.switches.push(() => {
    if (element.dataset.saving) return;
    const on = members().filter((tool) => tool.enabled).length;
    // A switch that is neither is off for a screen reader (WAI-ARIA, role switch), and goes on next.
    input.checked = on === members().length;
    input.indeterminate = on > 0 && !input.checked;
  });
  return element;
}

function row(board, { name, category: of, description, units, list_bytes, estimated_tokens }, about) {
  const input = h("input", { type: "checkbox", role: "switch", "aria-describedby": about });
  const element = h("li", { "data-tool": name },
    h("label", { class: "switch" }, input, label(name)),
    h("p", { id: about, class: "about" }, label(description)),
    h("p", { class: "soft" }, units > 0 ? t("tools.units", { units: number(units) }) : t("tools.free"), " · ",
      t("tools.size", { bytes: number(list_bytes), tokens: number(estimated_tokens) })));
  input.addEventListener("change", () => {
    const on = input.checked;
    change(board, name, element, (off) => switchTool(off, name, of, board.settings.tools, on));
  });
  board.switches.push(() => { if (!element.dataset.saving) input.checked = board.settings.tools.find((tool) => tool.name === name)?.enabled ?? false; });
  return element;
}

const without = (list, ...names) => list.filter((name) => !names.includes(name));
const withAll = (list, names) => [...new Set([...list, ...names])];

// switchTool: one tool of a category that is off as a whole can be on if the others are off one by one.
function switchTool(off, name, of, all, on) {
  if (!on) return { ...off, disabled_tools: withAll(off.disabled_tools, [name]) };
  const others = off.disabled_categories.includes(of) ? all.filter((tool) => tool.category === of).map((tool) => tool.name) : [];
  return { disabled_categories: without(off.disabled_categories, of), disabled_tools: without(withAll(off.disabled_tools, others), name) };
}

// switchCategory: one that is switched on has all of its tools on.
function switchCategory(off, name, members, on) {
  if (!on) return { ...off, disabled_categories: withAll(off.disabled_categories, [name]) };
  return { disabled_categories: without(off.disabled_categories, name), disabled_tools: without(off.disabled_tools, ...members.map((tool) => tool.name)) };
}

// change saves what make makes of the settings, one change after the other.
function change(board, name, element, make) {
  element.dataset.saving = "yes";
  announce(t("tools.saving"));
  board.saving = board.saving.catch(() => {}).then(() => save(board, name, make)).finally(() => {
    delete element.dataset.saving;
    show(board);
  });
}

async function save(board, name, make) {
  board.page.clearNotice("taken-back");
  board.page.clearNotice("merged");
  try {
    const merged = await write(board, make);
    if (merged) board.page.notice("merged", t("tools.merged", { name: plain(name) }));
    announce(t("tools.saved", { name: plain(name) }));
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    if (error.kind === "unauthorized") return board.page.report(error);
    board.page.notice("taken-back", t("tools.taken-back", { name: plain(name) }));
    board.page.report(error);
  }
}

// write sends a change to settings that nobody has changed meanwhile. If somebody has, it reads them
// and makes the change again; it returns whether that was so.
async function write(board, make, merged = false, triesLeft = 3) {
  const { disabled_categories, disabled_tools } = board.settings;
  const body = make({ disabled_categories, disabled_tools });
  try {
    const answer = await board.page.load(put, { body, headers: { "if-match": board.etag } });
    board.settings = answer.body;
    board.etag = answer.etag;
    return merged;
  } catch (error) {
    if (error.kind !== "changed" || triesLeft <= 1) throw error;
    const answer = await board.page.load(requests.tools[0]);
    board.settings = answer.body;
    board.etag = answer.etag;
    return write(board, make, true, triesLeft - 1);
  }
}
