// Lambda's Runtime API, the least that a handler needs: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
import http from "node:http";

const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(":");
const agent = new http.Agent({ keepAlive: true });

function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, host, port, method, path: `/2018-06-01/runtime/invocation/${path}` }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

export async function serve(handler) {
  for (;;) {
    const next = await ask("GET", "next");
    const answer = await handler(JSON.parse(next.body));
    await ask("POST", `${next.headers["lambda-runtime-aws-request-id"]}/response`, JSON.stringify(answer));
  }
}
