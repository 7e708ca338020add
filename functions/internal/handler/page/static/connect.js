// The apps that signed in with the key, and what to paste into clients that take the key itself. The
// texts come from the server, where `sekisho up` has them from too.
import { base, currentKey, elsewhere, requests } from "./api.js";
import { announce, byId, h, label, plain } from "./dom.js";
import { dateTime, t } from "./language.js";

const placeholder = "YOUR_KEY";
const mcp = elsewhere === "elsewhere" ? "MCP_URL" : elsewhere || `${base}/mcp`;
let clients;

export async function connect(page) {
  clients ??= (await page.load(`GET ${new URL("clients.json", import.meta.url)}`, { withKey: false, cache: "default" })).body;
  const { grants } = (await page.load(requests.connect[0])).body;
  const put = h("input", { id: "put-key", type: "checkbox" });
  const texts = [];
  put.addEventListener("change", () => {
    for (const update of texts) update();
    if (put.checked) page.notice("key-shown", t("connect.key-shown"));
    else page.clearNotice("key-shown");
  });
  const fill = (text) => text.replaceAll("{mcp}", mcp).replaceAll("{api}", base).replaceAll("{key}", put.checked ? currentKey() : placeholder);
  return h("div", {},
    h("h1", {}, t("view.connect")),
    grants.length > 0 ? apps(page, grants) : null,
    h("p", {}, t("connect.why")),
    elsewhere === "elsewhere" ? h("p", { id: "mcp-elsewhere" }, t("connect.elsewhere")) : null,
    h("label", { class: "check" }, put, h("span", {}, t("connect.put-key"))),
    clients.map((client) => {
      const pre = h("pre", { id: `text-${client.id}`, tabindex: "0", role: "region", "aria-label": client.name });
      texts.push(() => { pre.textContent = fill(client.text); });
      texts.at(-1)();
      return h("section", { class: "card", "data-client": client.id },
        h("div", { class: "row" }, h("h2", {}, label(client.name)),
          h("button", { type: "button", class: "copy", "aria-describedby": pre.id, onclick: () => copy(pre, client.name) }, t("connect.copy"))),
        h("p", { class: "soft" }, where(client)), pre);
    }),
    h("section", { class: "card", id: "no-key" }, h("h2", {}, t("connect.no-key")), h("p", {}, t("connect.no-key-why"))));
}

// apps is the section of those that are signed in.
function apps(page, grants) {
  const list = h("ul", { class: "plain" });
  const none = h("p", { hidden: true }, t("apps.none"));
  const heading = h("h2", { tabindex: "-1" }, t("apps"));
  const fill = (signedIn) => {
    list.replaceChildren(...signedIn.map((grant) => app(grant, end)));
    none.hidden = signedIn.length > 0;
  };
  const end = async (grant) => {
    try {
      fill((await page.load(`DELETE v1/user/grants/${encodeURIComponent(grant.grant_id)}`)).body.grants);
      heading.focus(); // the button is gone
      announce(t("apps.ended", { name: nameOf(grant) }));
    } catch (error) {
      page.report(error, () => end(grant));
    }
  };
  fill(grants);
  return h("section", { class: "card", id: "apps" }, heading, h("p", { class: "soft" }, t("apps.why")), list, none);
}

const nameOf = (grant) => plain(grant.client_name || grant.client_host);

function app(grant, end) {
  const id = `app-${grant.grant_id}`, at = (time) => dateTime(Date.parse(time));
  return h("li", { "data-grant": grant.grant_id },
    h("div", { class: "row" }, h("h3", { id }, label(nameOf(grant))),
      h("button", { type: "button", class: "end", "aria-describedby": id, onclick: () => end(grant) }, t("apps.end"))),
    grant.client_host ? h("p", {}, label(grant.client_host)) : null,
    h("p", { class: "soft" }, t("apps.times", { since: at(grant.signed_in_at), used: at(grant.last_used_at), until: at(grant.expires_at) })));
}

function where(client) {
  return client.where ? t("connect.in-file", { file: client.where }) : t("connect.in-shell");
}

async function copy(pre, name) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
    announce(t("connect.copied", { name }));
  } catch { // a browser has no clipboard for pages that came over plain HTTP
    getSelection().selectAllChildren(pre);
    byId(pre.id).focus();
    announce(t("connect.select"));
  }
}
