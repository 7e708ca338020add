// An MCP server as the TypeScript SDK's examples have it, with one tool that asks a REST API.
import { DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";
import { serve } from "./runtime.mjs";

const client = new DynamoDBClient({});

function server(base, key) {
  const made = new McpServer({ name: "bench", version: "1" });
  made.registerTool("postal_lookup", { description: "Looks up a postal code.", inputSchema: { postal_code: z.string() } }, async ({ postal_code }) => {
    const answer = await fetch(`${base}/v1/postal/${postal_code}`, { headers: { "x-api-key": key } });
    return { content: [{ type: "text", text: await answer.text() }] };
  });
  return made;
}

await serve(async (event) => {
  const header = Object.fromEntries(Object.entries(event.headers).map(([name, value]) => [name.toLowerCase(), value]));
  await client.send(new GetItemCommand({ TableName: process.env.SEKISHO_ACCOUNTS_TABLE, Key: { pk: { S: "key" } }, ConsistentRead: true }));
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server(event.stageVariables?.rest_address ?? `http://${event.requestContext.domainName}`, header["x-api-key"]).connect(transport);
  const answer = await transport.handleRequest(new Request("http://lambda.invalid/mcp", { method: "POST", headers: header, body: event.body }));
  return { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
});
