"""A handler behind an API Gateway proxy integration, and what a runtime does around it."""
import json
import sys


def handler(event, context):
    order = event["pathParameters"]["id"]
    if order == "crash":
        raise RuntimeError("the database's password is hunter2")
    if order == "missing":
        return {"statusCode": 404, "body": json.dumps({"error": f"no order {order}"})}
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": json.dumps({"id": order})}


if __name__ == "__main__":
    print(json.dumps(handler(json.load(sys.stdin), None)))
