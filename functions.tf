# Which functions there are, and what each gets. The contract says which functions serve
# it; one that it names and that is not listed below starts from the defaults, with no
# table and no environment of its own. So a new tool needs no line of Terraform, until it
# wants something that the others don't.

locals {
  contract_path = coalesce(var.api.contract, "${path.module}/functions/internal/contract/openapi.yaml")
  contract      = yamldecode(file(local.contract_path))

  operations = [for operation in flatten([for item in local.contract.paths : [for operation in item : operation]]) : operation if can(operation.responses)]
  served     = [for operation in local.operations : operation.x-sekisho.function if can(operation.x-sekisho.function)]

  # What starts a function, and by how many methods of the API. A method that asks for a key
  # starts the authorizer; a record of the log starts settle, three times if it fails.
  started_by = merge(
    { for name in local.names : name => contains(local.served, name) ? "api" : "message" },
    { authorizer = "authorizer", settle = "log", mcp = "proxy" },
  )
  methods = merge(
    { for name in local.names : name => length([for function in local.served : function if function == name]) },
    {
      authorizer = length([for operation in local.operations : operation if length(try(operation.security, local.contract.security)) > 0])
      settle     = 3 * length(local.operations)
    },
  )

  names = toset(concat(["authorizer", "settle"], local.served))

  # The brake stops what serves calls, but for account: key holders are to see their usage.
  # It is no part of the functions below: its environment names the API, which is made after
  # them, so modules/cost_guard makes it.
  never_braked = ["authorizer", "account", "settle", "brake"]
  brake = {
    functions = coalesce(var.cost.brake.functions, sort(setsubtract(local.served, local.never_braked)))
    runtime   = { memory_mb = 128, timeout_seconds = 60, architecture = var.cost.brake.architecture, tracing = var.observability.tracing }
  }

  table_arns = {
    for role, name in module.usage.names :
    role => "arn:${local.location.partition}:dynamodb:${local.location.region}:${local.location.account_id}:table/${name}"
  }

  key_cache = { SEKISHO_KEY_CACHE_SECONDS = tostring(var.settings.key_cache_seconds) }

  # memory_mb and timeout_seconds are what the function needs to do its work well; see the
  # README for how they were measured. mcp and external wait for others, so they may take
  # nearly all of the gateway's 29 seconds.
  definitions = {
    authorizer = {
      memory_mb       = 256
      timeout_seconds = 5
      environment = merge(local.key_cache, {
        SEKISHO_ACCOUNTS_TABLE        = module.usage.names.accounts
        SEKISHO_USAGE_TABLE           = module.usage.names.usage
        SEKISHO_PLANS                 = jsonencode(var.plans)
        SEKISHO_UPGRADE_URL           = var.settings.upgrade_url
        SEKISHO_DENIAL_MEMORY_SECONDS = tostring(var.settings.denial_memory_seconds)
      })
      statements = [
        { actions = ["dynamodb:GetItem"], resources = [local.table_arns.accounts] },
        { actions = ["dynamodb:UpdateItem"], resources = [local.table_arns.usage] },
      ]
    }

    account = {
      memory_mb       = 256
      timeout_seconds = 10
      environment = {
        SEKISHO_ACCOUNTS_TABLE = module.usage.names.accounts
        SEKISHO_USAGE_TABLE    = module.usage.names.usage
        SEKISHO_PLANS          = jsonencode(var.plans)
      }
      statements = [
        { actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.accounts] },
        { actions = ["dynamodb:GetItem"], resources = [local.table_arns.usage] },
      ]
    }

    mcp = {
      memory_mb       = 512
      timeout_seconds = 28
      # Collecting only near the limit halves the function's CPU time.
      environment = merge(local.key_cache, {
        SEKISHO_ACCOUNTS_TABLE  = module.usage.names.accounts
        SEKISHO_ALLOWED_ORIGINS = join(",", var.settings.allowed_origins)
        SEKISHO_TOOL_NAMES      = var.settings.tool_names
        GOGC                    = "off"
        GOMEMLIMIT              = "${floor(0.8 * try(coalesce(var.functions.mcp.memory_mb), 512))}MiB"
      })
      statements = [
        { actions = ["dynamodb:GetItem"], resources = [local.table_arns.accounts] },
      ]
    }

    # Without an upstream it only says so, and needs nothing.
    external = {
      memory_mb       = 256
      timeout_seconds = 25
      environment = {
        SEKISHO_USAGE_TABLE              = module.usage.names.usage
        SEKISHO_UPSTREAM_URL             = try(coalesce(var.upstream.url), "")
        SEKISHO_UPSTREAM_TOKEN_PARAMETER = try(coalesce(var.upstream.token_parameter), "")
        SEKISHO_UPSTREAM_BURST           = tostring(var.upstream.burst)
        SEKISHO_UPSTREAM_RATE_PER_SECOND = tostring(var.upstream.rate_per_second)
        SEKISHO_PUBLISH_PER_DAY          = tostring(var.upstream.publish_per_day)
        SEKISHO_UPSTREAM_TIMEOUT_SECONDS = tostring(var.upstream.timeout_seconds)
      }
      statements = var.upstream.url == null ? [] : concat(
        [{ actions = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage] }],
        var.upstream.token_parameter == null ? [] : [{
          actions   = ["ssm:GetParameter"]
          resources = ["arn:${local.location.partition}:ssm:${local.location.region}:${local.location.account_id}:parameter/${trimprefix(var.upstream.token_parameter, "/")}"]
        }],
        var.upstream.token_key_arn == null ? [] : [{ actions = ["kms:Decrypt"], resources = [var.upstream.token_key_arn] }],
      )
    }

    # A transaction needs the permissions of its parts.
    settle = {
      memory_mb       = 128
      timeout_seconds = 30
      environment     = { SEKISHO_USAGE_TABLE = module.usage.names.usage }
      statements = [
        { actions = ["dynamodb:PutItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage] },
      ]
    }
  }

  functions = {
    for name in local.names : name => {
      runtime = {
        memory_mb       = try(coalesce(var.functions[name].memory_mb), local.definitions[name].memory_mb, 256)
        timeout_seconds = try(coalesce(var.functions[name].timeout_seconds), local.definitions[name].timeout_seconds, 5)
        architecture    = try(coalesce(var.functions[name].architecture), "arm64")
        tracing         = var.observability.tracing
      }
      reserved_concurrency = try(coalesce(var.functions[name].reserved_concurrency), -1)
      traffic              = try(var.functions[name].traffic, null)
      statements           = try(local.definitions[name].statements, [])
      environment = merge(
        { SEKISHO_LOG_LEVEL = var.settings.log_level },
        try(local.definitions[name].environment, {}),
        try(var.functions[name].environment, {}),
      )
    }
  }
}
