// A metering authorizer as one would write it in a day: read the key, count in one conditional write.
import { createHash } from "node:crypto";
import { DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { serve } from "./runtime.mjs";

const client = new DynamoDBClient({});

await serve(async (event) => {
  const [, key] = Object.entries(event.headers).find(([name]) => name.toLowerCase() === "x-api-key");
  const hash = createHash("sha256").update(key).digest("hex");
  await client.send(new GetItemCommand({ TableName: process.env.SEKISHO_ACCOUNTS_TABLE, Key: { pk: { S: hash } }, ConsistentRead: true }));
  const counted = await client.send(new UpdateItemCommand({
    TableName: process.env.SEKISHO_USAGE_TABLE,
    Key: { pk: { S: hash } },
    UpdateExpression: "ADD #used :one",
    ConditionExpression: "attribute_not_exists(#used) OR #used < :limit",
    ExpressionAttributeNames: { "#used": "used" },
    ExpressionAttributeValues: { ":one": { N: "1" }, ":limit": { N: "1000000" } },
    ReturnValues: "UPDATED_NEW",
  }));
  return {
    principalId: hash,
    policyDocument: { Version: "2012-10-17", Statement: [{ Action: "execute-api:Invoke", Effect: "Allow", Resource: event.methodArn }] },
    context: { used: counted.Attributes.used.N },
  };
});
