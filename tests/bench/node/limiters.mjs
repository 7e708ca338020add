// rate-limiter-flexible in races: {"store", "at", "table", "keys", "calls", "points"} on standard input, and on
// standard output how many calls of each race it granted, and in how much time.
import { readFileSync } from "node:fs";
import { DynamoDB } from "@aws-sdk/client-dynamodb";
import { Redis } from "ioredis";
import { RateLimiterDynamo, RateLimiterRedis } from "rate-limiter-flexible";

const asked = JSON.parse(readFileSync(0, "utf8"));
const options = { points: asked.points, duration: 30 * 24 * 3600, keyPrefix: "race" };

async function limiter() {
  if (asked.store === "redis") {
    return new RateLimiterRedis({ ...options, storeClient: new Redis(asked.at) });
  }
  const client = new DynamoDB({
    endpoint: asked.at, region: "us-east-1", credentials: { accessKeyId: "test", secretAccessKey: "test" },
    requestHandler: { httpAgent: { maxSockets: asked.calls } },
  });
  return new Promise((resolve, reject) => {
    const made = new RateLimiterDynamo({ ...options, storeClient: client, tableName: asked.table, dynamoTableOpts: { readCapacityUnits: 1000, writeCapacityUnits: 1000 } },
      (error) => (error ? reject(error) : resolve(made)));
  });
}

const counting = await limiter();
await counting.consume("warm");
const start = performance.now();
const granted = [];
for (const key of asked.keys) {
  const answers = await Promise.allSettled(Array.from({ length: asked.calls }, () => counting.consume(key)));
  // A refusal has no message; an error has.
  const failed = answers.find((a) => a.status === "rejected" && a.reason instanceof Error);
  if (failed) throw failed.reason;
  granted.push(answers.filter((a) => a.status === "fulfilled").length);
}
console.log(JSON.stringify({ granted, seconds: (performance.now() - start) / 1000 }));
process.exit(0);
