// The page: signing in and out, the views, and what to say when the API does not answer as wished.
//
// What tests and screen readers can hold on to:
//
//   body[data-state]      signed-out, loading, slow, ready, offline, timeout, throttled, braked, failed
//   body[data-view]       usage, tools, connect, diagnosis
//   #sign-in #key #keep   the form, its key, and whether to keep it; #sign-out; #language; #refresh
//   #to-VIEW              the links; the one shown has aria-current="page"
//   [data-notice=KIND]    wrong-key, revoked, signed-out, used-up, throttled, unavailable, braked, offline,
//                         slow, timeout, failed, turned, merged, taken-back, key-shown; with .retry and #upgrade in some
//   [data-limit=PERIOD]   a gauge: monthly, daily, rate; inside .left .used .resets .pace
//   #months #days         charts; #months-table #days-table their figures; #month picks the month
//   #by-tool              its rows have data-tool
//   [data-category=NAME]  a group of tools; [data-tool=NAME] a tool; inside each an input[role=switch];
//                         a tool has data-saving while it is saved; #tools-sum
//   #apps [data-grant=ID] an app that is signed in; inside .end
//   [data-client=ID]      a client; inside pre and .copy; #put-key
//   #run                  starts the diagnosis; [data-check=NAME] with data-state waiting, running, good, bad;
//                         #verdict
//   #announcer            what a screen reader hears
import { Failed, call, canBeKey, hasKey, keptKey, useKey } from "./api.js";
import { announce, byId, h } from "./dom.js";
import { currentLanguage, setLanguage, t } from "./language.js";
import { usage } from "./usage.js";
import { tools } from "./tools.js";
import { connect } from "./connect.js";
import { diagnosis } from "./diagnosis.js";

const views = { usage, tools, connect, diagnosis };
// passing are the notices that the next answer makes untrue.
const passing = ["offline", "timeout", "throttled", "unavailable", "failed"];
const staleAfter = 60000, longestTimer = 2 ** 31 - 1;

let view = "usage";
let turn = 0; // of rendering: an older one must not replace a newer one
let accepted = false; // the API has taken this key before
let loadedAt = 0;
let retryTimer, turnTimer;

// page is what the views know of it.
const page = {
  // month is the one that the usage shows; "" for the current one.
  month: "",
  load, notice, clearNotice, render, report,
  // turnsAt renders anew when a period ends. until is in milliseconds from now.
  turnsAt(until) {
    clearTimeout(turnTimer);
    turnTimer = setTimeout(() => {
      page.month = "";
      if (view === "usage") render().then(() => notice("turned", t("notice.turned")));
    }, Math.min(until + 1000, longestTimer));
  },
};

const setState = (state) => { document.body.dataset.state = state; };

// load calls the API for a view.
async function load(request, options = {}) {
  const answer = await call(request, {
    ...options,
    onSlow: () => { setState("slow"); notice("slow", t("notice.slow")); },
  }).finally(() => clearNotice("slow"));
  if (options.withKey !== false) accepted = true;
  for (const kind of passing) clearNotice(kind);
  if (document.body.dataset.state !== "loading") setState("ready");
  return answer;
}

// render shows the view as it is now. What is there stays until the new one has come.
async function render() {
  if (!hasKey()) return showSignIn();
  const mine = ++turn;
  clearTimeout(retryTimer);
  setState("loading");
  const content = byId("content");
  if (content.dataset.shows !== view) content.replaceChildren(h("h1", {}, t(`view.${view}`)), h("p", { class: "loading" }, t("loading")));
  try {
    const element = await views[view](page);
    if (mine !== turn) return;
    if (content.dataset.shows !== view) announce(t(`view.${view}`));
    const focused = document.activeElement?.id;
    content.replaceChildren(element);
    content.dataset.shows = view;
    if (focused) byId(focused)?.focus({ preventScroll: true });
    loadedAt = Date.now();
    setState("ready");
  } catch (error) {
    if (mine === turn) report(error);
  }
}

// report says why there is no answer, and what can be done. Without again, that is to render anew.
function report(error, again = render) {
  if (!(error instanceof Failed)) {
    setState("failed");
    notice("failed", t("notice.failed", { status: "", code: error?.name ?? "" }), retryButton(again));
    throw error;
  }
  const content = byId("content");
  if (content.dataset.shows !== view) content.replaceChildren();
  if (error.kind === "unauthorized") return signOut(accepted ? "revoked" : "wrong-key");
  setState(error.kind === "changed" ? "failed" : error.kind);
  switch (error.kind) {
    case "throttled":
      return waitAndRetry(error, again);
    case "offline":
    case "timeout":
      return notice(error.kind, t(`notice.${error.kind}`), retryButton(again));
    case "braked":
      return notice("braked", t("notice.braked"), retryButton(again));
  }
  notice("failed", t("notice.failed", { status: error.status, code: error.problem.error ?? "" }), retryButton(again));
}

const retryButton = (again) => h("button", { type: "button", class: "retry", onclick: () => again() }, t("retry"));

// waitAndRetry counts the seconds down that the API asks to wait.
function waitAndRetry(error, again) {
  const kind = error.status === 429 ? "throttled" : "unavailable";
  let left = error.wait ?? 5;
  const text = () => t(`notice.${kind}`, { seconds: left });
  const shown = notice(kind, text());
  const tick = () => {
    if (!shown.isConnected) return;
    if (--left <= 0) { clearNotice(kind); again(); return; }
    shown.firstChild.textContent = text();
    retryTimer = setTimeout(tick, 1000);
  };
  clearTimeout(retryTimer);
  retryTimer = setTimeout(tick, 1000);
}

// notice shows a message, in the place of the one of its kind.
function notice(kind, text, ...more) {
  clearNotice(kind);
  const close = h("button", { type: "button", class: "close", "aria-label": t("dismiss"), onclick: () => element.remove() }, "×");
  const element = h("div", { class: "notice", "data-notice": kind }, h("p", {}, text), ...more, close);
  byId("notices").append(element);
  return element;
}

function clearNotice(kind) {
  document.querySelector(`[data-notice="${kind}"]`)?.remove();
}

function showSignIn() {
  turn++;
  setState("signed-out");
  byId("views").hidden = byId("sign-out").hidden = true;
  document.title = `${t("sign-in")} – Sekisho`;
  const content = byId("content");
  content.dataset.shows = "sign-in";
  const key = h("input", { id: "key", type: "password", autocomplete: "off", autocapitalize: "off", spellcheck: "false", required: true, maxlength: 200 });
  const keep = h("input", { id: "keep", type: "checkbox", "aria-describedby": "keep-why" });
  const submit = (event) => {
    event.preventDefault();
    const text = key.value.trim();
    byId("notices").replaceChildren();
    if (!canBeKey(text)) return notice("wrong-key", t("notice.wrong-key"));
    useKey(text, keep.checked);
    key.value = "";
    accepted = false;
    signedIn();
  };
  content.replaceChildren(h("form", { id: "sign-in", class: "card", onsubmit: submit },
    h("h1", {}, t("sign-in")),
    h("p", {}, t("sign-in.why")),
    h("label", { for: "key" }, t("sign-in.key")), key,
    h("label", { class: "check" }, keep, h("span", {}, t("sign-in.keep"))),
    h("p", { id: "keep-why", class: "soft" }, t("sign-in.keep-why")),
    h("button", { type: "submit", class: "main" }, t("sign-in")),
    h("p", { class: "soft" }, t("sign-in.none"))));
}

function signedIn() {
  byId("views").hidden = byId("sign-out").hidden = false;
  follow();
}

// signOut forgets the key and all that was shown with it.
function signOut(why) {
  useKey("", false);
  accepted = false;
  page.month = "";
  clearTimeout(retryTimer);
  clearTimeout(turnTimer);
  byId("notices").replaceChildren();
  showSignIn();
  notice(why, t(why === "signed-out" ? why : `notice.${why}`));
  byId("key").focus();
}

// follow goes where the address says. The key is never in it.
function follow() {
  const wanted = location.hash.slice(1);
  view = Object.hasOwn(views, wanted) ? wanted : "usage";
  document.body.dataset.view = view;
  for (const name of Object.keys(views)) {
    if (name === view) byId(`to-${name}`).setAttribute("aria-current", "page");
    else byId(`to-${name}`).removeAttribute("aria-current");
  }
  for (const kind of ["turned", "merged", "taken-back", "key-shown"]) clearNotice(kind);
  if (hasKey()) document.title = `${t(`view.${view}`)} – Sekisho`;
  return render();
}

// speak puts the page into the holder's language.
function speak() {
  document.documentElement.lang = currentLanguage();
  byId("language").value = currentLanguage();
  byId("views").setAttribute("aria-label", t("views"));
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = t(element.dataset.word);
}

byId("language").addEventListener("change", (event) => {
  setLanguage(event.target.value);
  speak();
  byId("notices").replaceChildren();
  byId("content").dataset.shows = "";
  follow();
});
byId("sign-out").addEventListener("click", () => signOut("signed-out"));
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("content").focus(); });
addEventListener("hashchange", () => { if (location.hash !== "#content") follow(); });
addEventListener("online", () => { if (document.body.dataset.state === "offline") render(); });
document.addEventListener("visibilitychange", () => {
  const stale = Date.now() - loadedAt > staleAfter;
  if (document.visibilityState === "visible" && hasKey() && stale && (view === "usage" || view === "tools")) render();
});

speak();
const kept = keptKey();
if (canBeKey(kept)) {
  useKey(kept, true);
  signedIn();
} else {
  showSignIn();
}
