// Package apigateway is the laptop's stand-in for the data plane of an API Gateway REST API:
// routes, REQUEST authorizer, gateway responses, mock and Lambda proxy integrations, and the
// access log. Functions run in package lambda.
//
// It is built from the description that AWS gets, and passes functions the JSON that they get
// in AWS. Where the real service is odd, so is this one. The
// sources (AGW/ is docs.aws.amazon.com/apigateway/latest/developerguide/):
//
//   - A trailing slash reaches the same resource; the event keeps it in path. Parameters in
//     pathParameters are NOT percent-decoded, those of the query are (a plus sign becomes a
//     space), and of a repeated one queryStringParameters has the last. All recorded from
//     AWS by localstack/localstack, test_apigateway_lambda.snapshot.json, 2024-07-10; the
//     path also in serverless/serverless#5037 and middleapi/standard-server#93. So a
//     function has to decode what it takes from the path.
//   - An unknown path and an unknown method give MISSING_AUTHENTICATION_TOKEN.
//     AGW/supported-gateway-response-types.html
//   - Values of the authorizer's context become strings; objects and arrays make the call an
//     AUTHORIZER_CONFIGURATION_ERROR. AGW/api-gateway-lambda-authorizer-output.html
//   - The context of a Deny reaches the template of ACCESS_DENIED (aws/aws-cdk#10624); with
//     an error there is no context (aws/aws-lambda-go#480).
//   - Gateway responses substitute variables, nothing more, and escape nothing.
//     AGW/api-gateway-gatewayResponse-definition.html
//   - Some headers are dropped or renamed on either way: see headers.go.
//   - The client can choose $context.requestId, not $context.extendedRequestId.
//     AGW/api-gateway-variables-for-access-logging.html
//   - A body that is not UTF-8 arrives with U+FFFD in place of the bad bytes, and an answer
//     marked isBase64Encoded goes out as it stands, because the API declares no binary
//     media types. AGW/api-gateway-payload-encodings.html
//   - Answers of integrations are compressed from the description's minimum size on; see
//     compress.go. Here by gzip alone, where the real service knows deflate too.
//   - A function that fails, panics, times out or answers anything but a proxy response is a
//     502 through DEFAULT_5XX; one that is throttled is an
//     INTEGRATION_FAILURE; 29 s without an answer are an INTEGRATION_TIMEOUT.
//   - A client that goes away does not stop the function that serves it.
//
// Where nothing public says what the real service does, this one decides: the stage's
// throttle comes before the authorizer, so that a throttled call takes no units; so does the
// check of a Content-Length that is too large, but the body itself is read after it; headers
// that are too large are a 400; a resource that lacks the method is not passed over for a
// greedy one; several slashes at the start of a path count as one.
//
// What it does not do: validators, models, usage plans, API keys of API Gateway, VTL beyond
// variables, caching, streaming, binary media types, canaries. It differs on purpose in four
// things: X-Forwarded-For holds only the address that called (the real service appends it
// to what the client sent), values in the access log are escaped as JSON, a proxy
// response must name its status (the real one takes 200 for a missing one), and large bodies
// share a bounded memory (body.go).
package apigateway
