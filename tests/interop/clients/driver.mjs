// Drives a client of the TypeScript SDK for the Go test: one JSON object per line comes in on
// standard input, one goes out for each on standard output. What a client throws goes out as
// the text that it threw.
//
//   node driver.mjs PACKAGE MODE
//
// PACKAGE is the SDK's; MODE is how version 2 finds the protocol version: legacy, auto, or a
// version to insist on. Version 1 has no choice and ignores it.
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

// A host that could log in with OAuth, as editors and desktop hosts are.
const provider = {
  redirectUrl: 'http://127.0.0.1:1/callback',
  clientMetadata: { client_name: 'driver', redirect_uris: ['http://127.0.0.1:1/callback'] },
  clientInformation: () => undefined,
  saveClientInformation: () => {},
  tokens: () => undefined,
  saveTokens: () => {},
  redirectToAuthorization: () => { throw new Error('the client opened a browser'); },
  saveCodeVerifier: () => {},
  codeVerifier: () => 'verifier',
};

let client;
// Shared by all connections, as in a host that serves several people: the partition is who
// asks, and what is public may go to anybody.
const responseCacheStore = isV2 ? new InMemoryResponseCacheStore() : undefined;

const operations = {
  async connect({ url, headers, oauth }) {
    const versionNegotiation = { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } };
    client = new Client({ name: 'driver', version: '1' }, isV2 ? { versionNegotiation, responseCacheStore, cachePartition: JSON.stringify(headers) } : {});
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      authProvider: oauth ? provider : undefined,
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

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = { result: await operations[request.op](request) };
  } catch (error) {
    answer = { thrown: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
