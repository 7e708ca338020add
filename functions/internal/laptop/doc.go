// Package laptop is the whole product in one process on one's own machine: the handlers that
// lambda.Start runs in AWS, behind stand-ins for API Gateway (apigateway, httpapi) and Lambda
// (lambda), over any store. A running one is a Service.
package laptop
