// Drives a client of the TypeScript SDK for the Go test: one JSON object per line comes in on
// standard input, one goes out for each on standard output. What a client throws goes out as
// the text that it threw.
//
//   node driver.mjs PACKAGE MODE
//
// PACKAGE is the SDK's; MODE is how version 2 finds the protocol version: legacy, auto, or a
// version to insist on. Version 1 has no choice and ignores it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

// Standard output is for answers: what a client notes on its console goes to standard error.
console.debug = console.log = console.info = console.error;

const [sdk, mode] = process.argv.slice(2);
const isV2 = sdk === '@modelcontextprotocol/client';
const { Client, InMemoryResponseCacheStore } = await import(isV2 ? sdk : `${sdk}/client/index.js`);
const { StreamableHTTPClientTransport } = await import(isV2 ? sdk : `${sdk}/client/streamableHttp.js`);

// The client's clock: what it keeps for a while is old as soon as the test says so.
const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;

// A host that logs in with OAuth, as editors and desktop hosts do: it opens a browser, and waits for
// the code at an address of its own.
class Host {
  constructor(browser) {
    this.browser = browser;
    this.listener = createServer((request, response) => {
      response.end('Back at the driver.');
      this.back?.(new URL(request.url, this.redirectUrl).searchParams);
    });
  }
  async listen() {
    await new Promise((resolve) => this.listener.listen(0, '127.0.0.1', resolve));
    this.redirectUrl = `http://127.0.0.1:${this.listener.address().port}/callback`;
    this.clientMetadata = {
      client_name: 'driver', redirect_uris: [this.redirectUrl], token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
    };
    return this;
  }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.kept; }
  saveTokens(tokens) { this.kept = tokens; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  state() { return this.asked = randomUUID(); }
  invalidateCredentials(what) {
    if (what === 'all' || what === 'tokens') this.kept = undefined;
    if (what === 'all' || what === 'client') this.client = undefined;
  }
  redirectToAuthorization(url) {
    this.answer = new Promise((resolve, reject) => {
      this.back = resolve;
      spawn(this.browser, [url.href], { stdio: 'ignore' }).on('error', reject);
    });
  }
  // The client gives up when it has opened the browser; what it was doing is done again with the tokens
  // that came of it.
  async signIn(transport) {
    const answer = await this.answer;
    this.answer = undefined;
    if (answer.get('state') !== (this.asked ?? null)) throw new Error(`the state is ${answer.get('state')}`);
    await transport.finishAuth(isV2 ? answer : answer.get('code'));
  }
}

let client, transport, host;
// Shared by all connections, as in a host that serves several people: the partition is who
// asks, and what is public may go to anybody.
const responseCacheStore = isV2 ? new InMemoryResponseCacheStore() : undefined;

const operations = {
  async connect({ url, headers, browser }) {
    if (browser) host ??= await new Host(browser).listen();
    const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
    client = new Client({ name: 'driver', version: '1' }, isV2 ? { versionNegotiation, responseCacheStore, cachePartition: JSON.stringify(headers) } : {});
    transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      authProvider: browser ? host : undefined,
    });
    // The oldest release forgets which version was agreed on.
    let protocol;
    const request = client.request.bind(client);
    client.request = async (message, ...rest) => {
      const result = await request(message, ...rest);
      if (message.method === 'initialize') protocol = result.protocolVersion;
      return result;
    };
    await client.connect(transport);
    return {
      name: client.getServerVersion().name,
      protocol: transport.protocolVersion ?? protocol,
      instructions: client.getInstructions(),
      capabilities: client.getServerCapabilities(),
    };
  },
  async list() {
    return (await client.listTools()).tools.map((tool) => tool.name);
  },
  async others() {
    const { prompts } = await client.listPrompts();
    const { resources } = await client.listResources();
    const { resourceTemplates } = await client.listResourceTemplates();
    return prompts.length + resources.length + resourceTemplates.length;
  },
  async call({ tool, arguments: args }) {
    const progress = [];
    const options = { onprogress: (p) => progress.push(p.message ?? '') };
    const params = { name: tool, arguments: args };
    const result = await (isV2 ? client.callTool(params, options) : client.callTool(params, undefined, options));
    return {
      text: result.content.map((c) => c.text).join('\n'),
      isError: result.isError ?? false,
      structured: result.structuredContent ?? null,
      progress,
    };
  },
  async pass({ milliseconds }) {
    ahead += milliseconds;
    return null;
  },
  async close() {
    await client?.close();
    client = undefined;
    return null;
  },
};

async function perform(request) {
  try {
    return await operations[request.op](request);
  } catch (error) {
    if (!host?.answer) throw error;
    await host.signIn(transport);
    return operations[request.op](request);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { result: await perform(JSON.parse(line)) };
  } catch (error) {
    answer = { thrown: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
process.exit(); // the host still listens
