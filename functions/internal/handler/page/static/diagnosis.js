// The checks of utility.diagnose_mcp, made from this browser, one after the other.
import { elsewhere, Failed, requests } from "./api.js";
import { announce, h } from "./dom.js";
import { number, t } from "./language.js";

const [health, usage, settings, mcp] = requests.diagnosis;
const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

// Each check says what it found; what an earlier one was told, a later one need not ask again.
const checks = {
  endpoint: async (page) => { await page.load(health, { withKey: false }); return t("check-says.endpoint"); },
  key: async (page, told) => { told.usage = (await page.load(usage)).body; return t("check-says.key"); },
  usage: async (page, { usage: is, failed }) => {
    if (!is) throw failed;
    if (is.monthly_limit === null) return t("check-says.usage-unlimited", { used: number(is.monthly_used) });
    if (is.remaining <= 0) throw new Error(t("check-says.usage-up"));
    return t("check-says.usage", { used: number(is.monthly_used), left: number(is.remaining) });
  },
  settings: async (page) => {
    const { tools } = (await page.load(settings)).body;
    return t("check-says.settings", { on: number(tools.filter((tool) => tool.enabled).length), all: number(tools.length) });
  },
  mcp: async (page) => {
    if (elsewhere) return t("check-says.mcp-elsewhere");
    const { body } = await page.load(mcp, { body: listTools, headers: { accept: "application/json, text/event-stream" } });
    return t("check-says.mcp", { count: number(body.result.tools.length) });
  },
};

export async function diagnosis(page) {
  const rows = Object.fromEntries(Object.keys(checks).map((name) => [name, row(name)]));
  const verdict = h("p", { id: "verdict" });
  const run = h("button", { type: "button", id: "run", class: "main" }, t("diagnosis.run"));
  run.addEventListener("click", async () => {
    if (run.getAttribute("aria-disabled") === "true") return;
    run.setAttribute("aria-disabled", "true");
    verdict.textContent = "";
    page.clearNotice("braked");
    for (const one of Object.values(rows)) one.set("waiting");
    const good = await runAll(page, rows, () => run.click());
    if (good === null) return; // signed out meanwhile
    verdict.textContent = good ? t("diagnosis.good") : t("diagnosis.bad");
    announce(verdict.textContent);
    run.textContent = t("diagnosis.again");
    run.removeAttribute("aria-disabled");
  });
  return h("div", {}, h("h1", {}, t("view.diagnosis")), h("p", {}, t("diagnosis.why")), run,
    h("ol", { class: "checks card" }, Object.values(rows).map((one) => one.element)), verdict);
}

async function runAll(page, rows, again) {
  const told = {};
  let good = true, revoked = null;
  for (const [name, check] of Object.entries(checks)) {
    const began = performance.now();
    rows[name].set("running");
    try {
      rows[name].set("good", await check(page, told), performance.now() - began);
    } catch (error) {
      good = false;
      told.failed = error;
      rows[name].set("bad", reason(error), performance.now() - began);
      if (error.kind === "unauthorized") revoked = error;
      if (error.kind === "braked") page.report(error, again);
    }
    page.clearNotice("slow");
  }
  if (document.body.dataset.state === "slow") document.body.dataset.state = "ready";
  if (revoked) { page.report(revoked); return null; }
  return good;
}

function reason(error) {
  if (!(error instanceof Failed)) return error.message;
  const said = { offline: "notice.offline", timeout: "notice.timeout", braked: "notice.braked", unauthorized: "notice.wrong-key" }[error.kind];
  return said ? t(said) : t("check-says.failed", { status: error.status, code: error.problem.error ?? "" });
}

function row(name) {
  const state = h("span", { class: "state" }), says = h("span", { class: "says" }), took = h("span", { class: "soft took" });
  const element = h("li", { "data-check": name }, h("strong", {}, t(`check.${name}`)), " ", state, " ", says, " ", took);
  const set = (now, text = "", ms = null) => {
    element.dataset.state = now;
    state.textContent = t(`check-state.${now}`);
    says.textContent = text;
    took.textContent = ms === null ? "" : t("check-took", { ms: number(Math.round(ms)) });
  };
  set("waiting");
  return { element, set };
}
