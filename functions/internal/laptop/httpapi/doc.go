// Package httpapi is the laptop's stand-in for the two other doors to a function: an HTTP API, and
// a function URL that streams. Both hand over payload format 2.0, and neither has an authorizer,
// mock integrations or gateway responses: what they say by themselves can't be put into words that
// help an agent. First an HTTP API's words, then a function URL's:
//
//   - no such route: 404 {"message":"Not Found"}; a function URL has no routes.
//   - over the throttle of a route: 429 {"message":"Too Many Requests"}; a function URL has none.
//   - no concurrency left, which includes a function that the brake has stopped:
//     503 {"message":"Service Unavailable"}; 429 {"Message":"Rate Exceeded."}.
//   - the function crashed, or its own time was up: 500 {"message":"Internal Server Error"};
//     502 Internal Server Error, or a stream that is cut off.
//   - no answer within 30 seconds: 503 {"message":"Service Unavailable"}; a function URL waits as
//     long as the function's timeout allows.
//   - a request of more than 10 MB, and of 6 MB in all for the function: 413.
//   - an answer of more than 6 MB: 500; a stream of more than 200 MB is cut off.
//
// Limits are from docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html and
// docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html. Where AWS documents a status and not
// the body, the body is that of public reports.
package httpapi
