// What to paste into clients. The texts come from the server, where `sekisho up` has them from too.
import { base, currentKey, elsewhere } from "./api.js";
import { announce, byId, h, label } from "./dom.js";
import { t } from "./language.js";

const placeholder = "YOUR_KEY";
const mcp = elsewhere === "elsewhere" ? "MCP_URL" : elsewhere || `${base}/mcp`;
let clients;

export async function connect(page) {
  clients ??= (await page.load(`GET ${new URL("clients.json", import.meta.url)}`, { withKey: false, cache: "default" })).body;
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
