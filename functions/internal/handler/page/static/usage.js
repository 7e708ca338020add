// What is left, what used it, and when it runs out.
import { requests } from "./api.js";
import { bars } from "./chart.js";
import { announce, h, label } from "./dom.js";
import { around, dateTime, dayName, duration, monthName, number, percent, t } from "./language.js";

export async function usage(page) {
  const { body: history } = await load(page);
  const late = Date.now() - Date.parse(history.now); // this clock against the server's
  const now = () => Date.now() - late;
  const [month] = history.months;
  sayWhatIsUsedUp(page, history);
  comeBackAtTheTurn(page, history);
  announce(t("as-of", { time: dateTime(Date.parse(history.now)) }));
  return h("div", {},
    h("div", { class: "row" },
      h("h1", {}, t("view.usage")),
      h("p", { class: "soft" }, ...around("plan", "plan", label(history.plan)), " · ", t("as-of", { time: dateTime(Date.parse(history.now)) })),
      h("button", { type: "button", id: "refresh", onclick: () => page.render() }, t("refresh"))),
    h("div", { class: "gauges" },
      history.limits.map((limit) => gauge(limit, now)),
      history.limits.some((limit) => limit.limit_period === "monthly") ? null
        : h("p", { class: "card", id: "no-limit" }, t("used.unlimited", { used: number(month.used) }), " ", history.limits.length === 0 ? t("limit.none") : "")),
    months(history),
    picked(page, history));
}

// load asks for the month that is picked, or the current one if that is no longer kept.
async function load(page) {
  try {
    return await page.load(requests.usage[0], { query: page.month ? `?month=${encodeURIComponent(page.month)}` : "" });
  } catch (error) {
    if (error.status !== 400 || !page.month) throw error;
    page.month = "";
    return load(page);
  }
}

function sayWhatIsUsedUp(page, history) {
  const up = history.limits.filter((limit) => limit.limit_period !== "rate" && limit.remaining <= 0);
  if (up.length === 0) return page.clearNotice("used-up");
  const last = up.reduce((a, b) => (a.reset_at > b.reset_at ? a : b));
  page.notice("used-up", t("notice.used-up", { limit: t(`limit.${last.limit_period}`), date: dateTime(Date.parse(last.reset_at)) }), upgrade(history.upgrade_url));
}

// upgrade is a link, if the address is one of the web: no other scheme is ever followed.
function upgrade(address) {
  let url;
  try { url = new URL(address); } catch { return null; }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  return h("a", { id: "upgrade", href: url.href, rel: "noopener noreferrer", target: "_blank" }, t("notice.upgrade"));
}

function comeBackAtTheTurn(page, history) {
  const [year, month, day] = history.now.slice(0, 10).split("-").map(Number);
  page.turnsAt(Date.UTC(year, month - 1, day + 1) - Date.parse(history.now)); // a month ends with a day
}

// gauge of one limit. It goes on by itself, without asking again.
function gauge(limit, now) {
  const name = t(`limit.${limit.limit_period}`), resets = Date.parse(limit.reset_at);
  const left = h("p", { class: "left" }), used = h("p", { class: "used" }), until = h("p", { class: "resets soft" }), pace = h("p", { class: "pace" });
  const bar = h("progress", { max: Math.max(1, limit.limit), "aria-label": name });
  const element = h("section", { class: "card gauge", "data-limit": limit.limit_period, "aria-label": name },
    h("h2", {}, name), left, bar, used, until, pace);
  const tick = () => {
    const at = now(), state = stateAt(limit, at);
    bar.value = Math.min(state.used, bar.max);
    element.dataset.level = state.remaining <= 0 ? "empty" : state.remaining < limit.limit / 5 ? "low" : "fine";
    left.textContent = state.remaining <= 0 ? t("gauge.empty") : t("gauge.left", { left: number(state.remaining) });
    if (limit.limit_period === "rate") {
      const speed = (limit.limit * 1000) / limit.length_ms;
      used.textContent = t("gauge.rate", { used: number(state.used), limit: number(limit.limit), speed: number(speed, { maximumSignificantDigits: 3 }) });
      until.textContent = resets > at ? t("gauge.fills", { time: duration(resets - at) }) : t("gauge.full");
      return;
    }
    used.textContent = t("gauge.used", { used: number(limit.used), limit: number(limit.limit), percent: percent(limit.used, limit.limit) });
    until.textContent = t("gauge.resets", { time: duration(Math.max(0, resets - at)), date: dateTime(resets) });
    pace.textContent = paceOf(limit, at);
  };
  tick();
  const ticking = setInterval(() => (element.isConnected ? tick() : clearInterval(ticking)), limit.limit_period === "rate" ? 1000 : 30000);
  return element;
}

// stateAt: the rate's calls come back as time goes on, at an even speed.
function stateAt(limit, at) {
  if (limit.limit_period !== "rate") return limit;
  const used = Math.min(limit.used, Math.ceil((Math.max(0, Date.parse(limit.reset_at) - at) / limit.length_ms) * limit.limit));
  return { used, remaining: limit.limit - used };
}

// paceOf says when the limit is used up if things go on as they did since the period began. Of the
// first hundredth of a period nothing can be said.
function paceOf(limit, at) {
  const resets = Date.parse(limit.reset_at), passed = at - (resets - limit.length_ms);
  if (limit.used === 0 || limit.remaining <= 0 || passed < limit.length_ms / 100) return "";
  const out = at + (limit.remaining * passed) / limit.used;
  if (out < resets) return t("gauge.runs-out", { date: dateTime(out) });
  return t("gauge.lasts", { used: number(Math.round((limit.used * limit.length_ms) / passed)) });
}

function months(history) {
  const oldestFirst = [...history.months].reverse();
  const limit = history.limits.find((one) => one.limit_period === "monthly")?.limit ?? 0;
  return h("section", { class: "card" },
    h("h2", {}, t("chart.months")),
    chart("months", oldestFirst.map((m) => monthName(m.month)), oldestFirst.map((m) => m.used), limit),
    figures("months-table", ["chart.month", "chart.used", "chart.refunded", "chart.denied"],
      oldestFirst.map((m) => [monthName(m.month), m.used, m.refunded, m.denied])),
    h("p", { class: "soft" }, t("chart.utc")));
}

// picked is the month that is picked: its days and its tools.
function picked(page, history) {
  const month = history.months.find((m) => m.month === history.month);
  const pick = h("select", { id: "month", onchange: () => { page.month = pick.value === history.months[0].month ? "" : pick.value; page.render(); } },
    history.months.map((m) => h("option", { value: m.month, selected: m.month === history.month }, monthName(m.month))));
  const name = monthName(history.month);
  const limit = page.month === "" ? history.limits.find((one) => one.limit_period === "daily")?.limit ?? 0 : 0;
  return h("section", { class: "card" },
    h("div", { class: "row" }, h("h2", {}, t("chart.days", { month: name })), h("label", {}, t("by-tool.month"), " ", pick)),
    chart("days", history.days.map((d) => dayName(d.day)), history.days.map((d) => d.used), limit),
    figures("days-table", ["chart.day", "chart.used"], history.days.map((d) => [dayName(d.day), d.used])),
    h("h2", {}, t("by-tool", { month: name })),
    byTool(month));
}

function chart(id, names, values, limit) {
  const most = Math.max(...values);
  const describe = t("chart.describe", { most: number(most), name: names[values.indexOf(most)] });
  return bars({ id, names, values, limit, unit: t("chart.units"), describe, format: (n) => number(n, { notation: n >= 1e5 ? "compact" : "standard" }) });
}

// figures are what a chart shows, in a table.
function figures(id, heads, rows) {
  return h("details", {}, h("summary", {}, t("chart.table")), table(id, heads, rows.map((cells) => ({ cells }))));
}

// table: the first cell of a row is its head, and numbers are written as such.
function table(id, heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t(heads[0]) }, h("table", { id },
    h("thead", {}, h("tr", {}, heads.map((head, at) => h("th", { scope: "col", class: at > 0 ? "figure" : null }, t(head))))),
    h("tbody", {}, rows.map(({ cells: [first, ...rest], ...attributes }) => h("tr", attributes, h("th", { scope: "row" }, first),
      rest.map((cell) => h("td", { class: "figure" }, typeof cell === "number" ? number(cell) : cell)))))));
}

function byTool(month) {
  const all = month.tools.reduce((sum, tool) => sum + tool.admitted, 0);
  const summary = h("p", { id: "by-tool-summary" }, t("by-tool.summary", { admitted: number(month.admitted), refunded: number(month.refunded), denied: number(month.denied) }));
  if (month.tools.length === 0) return [h("p", { class: "soft" }, t("by-tool.none")), summary];
  const rows = [...month.tools].sort((a, b) => b.admitted - a.admitted).map((tool) => ({
    "data-tool": tool.tool, cells: [label(tool.tool), tool.admitted, tool.refunded, percent(tool.admitted, all)],
  }));
  return [table("by-tool", ["by-tool.tool", "by-tool.admitted", "by-tool.refunded", "by-tool.share"], rows), summary];
}
