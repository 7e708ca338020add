// A handler behind an API Gateway proxy integration, as one would find it.
exports.handler = async (event) => {
  if (event.resource === "/publications") {
    const { slug } = JSON.parse(event.body);
    return { statusCode: 201, headers: { Location: `/publications/${slug}` } };
  }
  const order = event.pathParameters.resource_id;
  if (order === "crash") throw new Error("database password is hunter2");
  if (order === "malformed") return { ok: true };
  if (order === "missing") return reply(404, `{"error": "no order ${order}"}`);
  const { user_id } = event.requestContext.authorizer;
  return reply(200, `{"id": "${order}", "for": "${user_id}", "plan": "${event.headers["X-Sekisho-Plan"]}"}`);
};

const reply = (statusCode, body) => ({ statusCode, headers: { "Content-Type": "application/json" }, body });
