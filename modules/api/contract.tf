# The contract, as API Gateway is to have it: paths, methods, path parameters, security,
# refusals, and the function behind each operation. Schemas stay home: API Gateway knows
# a part of JSON Schema only, and validation belongs to the functions. There is no logic
# here beyond "keep this": what is kept, the laptop's gateway serves the same way.

locals {
  contract = jsondecode(file(var.contract))
  methods  = ["get", "put", "post", "delete", "patch", "head", "options", "x-amazon-apigateway-any-method"]

  # What a function with a door of its own serves is left out.
  served_here = {
    for path, item in local.contract.paths : path => {
      for method, operation in item : method => operation if !try(var.functions[operation.x-sekisho.function].elsewhere, false)
    }
  }
  items = { for path, item in local.served_here : path => item if length(setintersection(keys(item), local.methods)) > 0 }

  operations = merge([
    for path, item in local.items : {
      for method, operation in item : "${method} ${path}" => {
        resource  = try(operation.x-sekisho.resource, path)
        shared    = try(endswith(operation.x-sekisho.resource, "+}"), false)
        member    = try(endswith(operation.x-sekisho.resource, "+}"), false) ? "x-amazon-apigateway-any-method" : method
        operation = operation
        function  = try(operation.x-sekisho.function, null)
      } if contains(local.methods, method)
    }
  ]...)

  # Where operations share a greedy path, one method of API Gateway's carries them all: authorizer and
  # function find the operation by method and path.
  by_resource = { for operation in values(local.operations) : operation.resource => operation... }
  resources   = { for resource, operations in local.by_resource : resource => { for operation in operations : operation.member => operation... } }

  served    = toset([for operation in local.operations : operation.function if operation.function != null])
  unserved  = setsubtract(local.served, keys(var.functions))
  lambda    = "arn:${var.location.partition}:lambda:${var.location.region}:${var.location.account_id}:function"
  invoke    = "arn:${var.location.partition}:apigateway:${var.location.region}:lambda:path/2015-03-31/functions"
  timeout_s = 29
  alias     = "live"

  uris = {
    for key, function in var.functions :
    key => "${local.invoke}/${local.lambda}:${function.name}:${local.alias}/invocations"
  }

  # A function whose answer goes out while it makes it is invoked in another way, and may take as long
  # as its own timeout allows
  # (https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html).
  integrations = {
    for key, function in var.functions : key => {
      for member, value in {
        type                 = "aws_proxy"
        httpMethod           = "POST"
        uri                  = function.streaming ? replace(replace(local.uris[key], "path/2015-03-31/", "path/2021-11-15/"), "/invocations", "/response-streaming-invocations") : local.uris[key]
        passthroughBehavior  = "when_no_match"
        timeoutInMillis      = function.streaming ? max(local.timeout_s, function.timeout_seconds + 1) * 1000 : local.timeout_s * 1000
        responseTransferMode = function.streaming ? "STREAM" : null
      } : member => value if value != null
    }
  }

  security_schemes = {
    for key, scheme in local.contract.components.securitySchemes : key => merge(scheme, {
      x-amazon-apigateway-authorizer = merge(scheme.x-amazon-apigateway-authorizer, {
        authorizerUri = try(local.uris[var.authorizer], null)
      })
    })
  }

  # Only the parts of a path in braces are declared: the rest of a request reaches the
  # function as it came.
  path_parameters = {
    for resource in keys(local.resources) : resource => [
      for name in flatten(regexall("{([^}+]+)[+]?}", resource)) :
      { name = name, in = "path", required = true, schema = { type = "string" } }
    ]
  }

  # Security is written out for every operation. API Gateway ignores the list at the top of
  # a description, and an operation without one of its own would be open to everybody.
  paths = {
    for resource, members in local.resources : resource => {
      for member, operations in members : member => merge(
        {
          security = try(operations[0].operation.security, local.contract.security)
          # OpenAPI demands responses, and a mock integration needs them as method responses.
          # API Gateway knows no "default".
          responses = operations[0].shared ? { "200" = { description = "What the backend answers." } } : {
            for status, response in operations[0].operation.responses :
            status => { description = try(response.description, "") } if status != "default"
          }
        },
        length(local.path_parameters[resource]) == 0 ? {} : { parameters = local.path_parameters[resource] },
        try({ x-amazon-apigateway-integration = operations[0].operation.x-amazon-apigateway-integration }, {}),
        try({ x-amazon-apigateway-integration = local.integrations[operations[0].function] }, {}),
      )
    }
  }

  # From how many bytes on answers are compressed; null for never.
  min_compressed = try(local.contract.x-amazon-apigateway-minimum-compression-size, null)

  description = merge({
    openapi                               = local.contract.openapi
    info                                  = local.contract.info
    paths                                 = local.paths
    components                            = { securitySchemes = local.security_schemes }
    x-amazon-apigateway-gateway-responses = local.contract.x-amazon-apigateway-gateway-responses
  }, local.min_compressed == null ? {} : { x-amazon-apigateway-minimum-compression-size = local.min_compressed })

  body = jsonencode(local.description)
}
