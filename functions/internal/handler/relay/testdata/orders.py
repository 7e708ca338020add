"""A handler behind an API Gateway proxy integration, as one would find it."""
import json


def handler(event, context):
    if event["resource"] == "/publications":
        slug = json.loads(event["body"])["slug"]
        return {"statusCode": 201, "headers": {"Location": f"/publications/{slug}"}}
    order = event["pathParameters"]["resource_id"]
    if order == "crash":
        raise RuntimeError("database password is hunter2")
    if order == "malformed":
        return {"ok": True}
    if order == "missing":
        return reply(404, {"error": f"no order {order}"})
    who = event["requestContext"]["authorizer"]
    return reply(200, {"id": order, "for": who["user_id"], "plan": event["headers"]["X-Sekisho-Plan"]})


def reply(status, body):
    return {"statusCode": status, "headers": {"Content-Type": "application/json"}, "body": json.dumps(body)}
