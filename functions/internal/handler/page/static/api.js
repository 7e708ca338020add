// The API, as the page asks it. The key travels in a header, and is kept nowhere but here and, if
// the holder wants it, in the session storage of this tab.

// requests of each view, and nothing else: what a view costs is counted from this list.
export const requests = {
  usage: ["GET v1/user/usage/history"],
  tools: ["GET v1/user/tool-settings"],
  connect: ["GET v1/user/grants"],
  diagnosis: ["GET v1/health", "GET v1/user/usage", "GET v1/user/tool-settings", "POST mcp"],
};

// base is the address of the API, without a final slash. This file is at BASE/page/VERSION/api.js.
export const base = new URL("../..", import.meta.url).href.replace(/\/$/, "");

// elsewhere is where MCP is, if it has a door of its own, or "elsewhere" if that is not known here.
export const elsewhere = document.querySelector('meta[name="mcp"]').content;

const slowAfter = 3000, abortAfter = 20000, storageName = "sekisho.key";
let key = "";

export const hasKey = () => key !== "";
export const currentKey = () => key;

// useKey takes a key that was typed in, or "" to forget it.
export function useKey(text, keep) {
  key = text;
  try {
    sessionStorage.removeItem(storageName);
    if (keep && key !== "") sessionStorage.setItem(storageName, key);
  } catch { /* storage is switched off: then the key is in memory alone */ }
}

export function keptKey() {
  try { return sessionStorage.getItem(storageName) ?? ""; } catch { return ""; }
}

// canBeKey: a header holds visible ASCII only, so anything else was pasted by mistake.
export const canBeKey = (text) => /^[\x21-\x7e]{1,200}$/.test(text);

// Failed is why there is no answer. kind is one of offline, timeout, unauthorized, throttled, braked,
// changed, failed; problem is what the API said, if anything.
export class Failed extends Error {
  constructor(kind, status = 0, problem = {}) {
    super(kind);
    Object.assign(this, { kind, status, problem });
  }
  // wait until another try makes sense, in seconds; null if it never does.
  get wait() {
    return typeof this.problem.retryAfterMs === "number" ? Math.max(1, Math.ceil(this.problem.retryAfterMs / 1000)) : null;
  }
}

const kinds = {
  unauthorized: "unauthorized", key_not_found: "unauthorized", key_inactive: "unauthorized",
  throttled: "throttled", rate_limited: "throttled", store_unavailable: "throttled", unavailable: "throttled",
  braked: "braked", settings_changed: "changed",
};

// call sends "METHOD path" and resolves with { body, etag, status }, or rejects with a Failed.
// onSlow is called if no answer has come after three seconds.
export async function call(request, { query = "", body, headers = {}, withKey = true, cache = "no-store", onSlow } = {}) {
  const [method, path] = request.split(" ");
  const slow = setTimeout(() => onSlow?.(), slowAfter);
  let response, text;
  try {
    response = await fetch(new URL(path + query, `${base}/`), {
      method, cache, credentials: "omit", redirect: "error", signal: AbortSignal.timeout(abortAfter),
      headers: { ...(withKey ? { "x-api-key": key } : {}), ...(body ? { "content-type": "application/json" } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
    });
    text = await response.text();
  } catch (error) {
    throw new Failed(error.name === "TimeoutError" || error.name === "AbortError" ? "timeout" : "offline");
  } finally {
    clearTimeout(slow);
  }
  let answer = {};
  try { answer = JSON.parse(text); } catch { /* an answer that is not JSON has no members */ }
  if (!response.ok) throw failedWith(response.status, answer);
  return { body: answer, etag: response.headers.get("etag"), status: response.status };
}

// failedWith reads the problem in an answer; over MCP it is the data of a JSON-RPC error.
function failedWith(status, answer) {
  const problem = answer?.error?.data ?? answer ?? {};
  const code = typeof problem.error === "string" ? problem.error : "";
  const kind = Object.hasOwn(kinds, code) ? kinds[code] : { 401: "unauthorized", 412: "changed", 429: "throttled" }[status] ?? "failed";
  return new Failed(kind, status, { ...problem, error: code });
}
