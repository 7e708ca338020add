# Which functions there are, and what each gets. The contract says which functions serve it and,
# in x-sekisho-functions, what they run with; one that is not listed below has no rights to any
# table and no environment of its own. So a new tool needs no line of Terraform, until it wants
# something that the others don't. Those of backends get what `backends` says.

locals {
  # Without a build the default contract takes its place, so that a plan gets as far as the guard
  # that asks for one.
  contract_path = coalesce(var.api.contract, "${var.dist}/contract.json")
  contract_file = fileexists(local.contract_path) ? local.contract_path : "${path.module}/functions/internal/contract/contract.json"
  contract      = jsondecode(file(local.contract_file))

  plan_bounds = local.contract.x-sekisho-limits.plan

  operations = flatten([for path, item in local.contract.paths : [
    for verb, operation in item : merge(operation, {
      path     = path
      verb     = upper(verb)
      resource = try(operation.x-sekisho.resource, path)
      any      = verb == "x-amazon-apigateway-any-method" || try(endswith(operation.x-sekisho.resource, "+}"), false)
    }) if can(operation.responses)
  ]])
  served = [for operation in local.operations : operation.x-sekisho.function if can(operation.x-sekisho.function)]

  names = toset(concat(["authorizer", "settle"], local.served, local.at_oauth_door))

  host_name = "^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$"
  redirects = { any = "^[a-z][a-z0-9+.-]*:/[^#\\s]*$", plain = "^http:", loopback = "^http://(127\\.0\\.0\\.1|localhost|\\[::1\\])([:/]|$)" }

  # The OAuth door's routes, and what is deployed for it alone. A company's own issuer has its own
  # endpoints.
  oauth_routes  = { for key, route in local.contract.x-sekisho-oauth-routes : key => route if var.oauth.enabled && (var.oauth.issuer == null || !try(route.own, false)) }
  at_oauth_door = distinct([for route in values(local.oauth_routes) : route.function if !contains(local.served, route.function)])

  # The function that another door than the REST API serves.
  elsewhere = var.mcp.door == "rest" ? null : "mcp"

  # Every method of the stage, as API Gateway throttles it: ANY is a method for each verb, and each
  # of them has the throttle to itself.
  verbs = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
  methods = merge([
    for operation in local.operations : {
      for verb in operation.any ? local.verbs : [operation.verb] : "${verb} ${operation.resource}" => {
        function = try(operation.x-sekisho.function, null)
        key      = length(try(operation.security, local.contract.security)) > 0
        closed   = try(operation.x-sekisho.braked, contains(local.brake.functions, operation.x-sekisho.function), false)
      }
    } if local.elsewhere == null || try(operation.x-sekisho.function, "") != local.elsewhere
  ]...)

  # What starts a function.
  started_by = merge(
    { for name in toset(local.served) : name => "api" },
    { for name in local.at_oauth_door : name => "oauth" },
    { authorizer = "authorizer", settle = "log", mcp = "proxy" },
  )

  # The contract's table: an entry says what differs from the default's.
  table = {
    for name in setunion(local.names, ["brake"]) :
    name => merge(local.contract.x-sekisho-functions.default, lookup(local.contract.x-sekisho-functions, name, {}))
  }

  # What is given for a function comes before the table.
  as_in_table = { version = null, memory_mb = null, timeout_seconds = null, architecture = null, reserved_concurrency = null, environment = {}, traffic = null }
  given       = { for name in local.names : name => lookup(var.functions, name, local.as_in_table) }
  runtimes = {
    for name, given in local.given : name => {
      memory_mb       = coalesce(given.memory_mb, local.table[name].memory_mb)
      timeout_seconds = coalesce(given.timeout_seconds, local.table[name].timeout_seconds)
      architecture    = coalesce(given.architecture, "arm64")
      tracing         = var.observability.tracing
      asynchronous    = local.started_by[name] == "log"
      version         = given.version
      alias           = local.started_by[name] != "proxy" # its list of tools follows the routes
    }
  }

  # The program of a function: those of backends share one.
  binaries = { for name, entry in local.table : name => try(entry.binary, name) }

  # Whether mcp is invoked for streams.
  streams = var.mcp.streaming || var.mcp.door == "url"

  # Where mcp dispatches calls itself, it says for itself that the brake is on.
  direct        = var.mcp.dispatch == "direct"
  never_braked  = [for name, function in local.table : name if !function.braked || try(function.spared_in, null) == var.mcp.dispatch]
  can_be_braked = sort(setsubtract(concat(local.served, local.at_oauth_door), local.never_braked))

  # The brake is made after the API, whose ID it is given, so it is not one of local.functions.
  brake = {
    functions = coalesce(var.cost.brake.functions, local.can_be_braked)
    runtime = {
      memory_mb       = local.table.brake.memory_mb
      timeout_seconds = local.table.brake.timeout_seconds
      architecture    = var.cost.brake.architecture
      tracing         = var.observability.tracing
    }
  }

  table_arns = {
    for role, name in module.usage.names :
    role => "arn:${local.location.partition}:dynamodb:${local.location.region}:${local.location.account_id}:table/${name}"
  }

  # Parts that are left out are null in Terraform, and stay out of the JSON. A null plan has none.
  plans = jsonencode({ for name, plan in var.plans : name => try({ for part, limit in plan : part => limit if limit != null }, {}) })

  key_cache = { SEKISHO_KEY_CACHE_SECONDS = tostring(var.settings.key_cache_seconds) }

  # A function may touch only the kinds of items that it works with, by the prefixes of their keys, which
  # functions/internal/aws/dynamo lists. tests/terraform compares all rights with the calls that are made.
  reads_keys = { actions = ["dynamodb:GetItem"], resources = [local.table_arns.accounts], leading_keys = ["key#*"] }

  # What counts calls: the authorizer, and mcp where it dispatches them itself.
  gate = {
    environment = merge(local.key_cache, {
      SEKISHO_ACCOUNTS_TABLE        = module.usage.names.accounts
      SEKISHO_USAGE_TABLE           = module.usage.names.usage
      SEKISHO_PLANS                 = local.plans
      SEKISHO_USAGE_PERCENT         = join(",", var.alerts.usage_percent)
      SEKISHO_UPGRADE_URL           = var.settings.upgrade_url
      SEKISHO_DENIAL_MEMORY_SECONDS = tostring(var.settings.denial_memory_seconds)
    })
    statements = [
      local.reads_keys,
      { actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage], leading_keys = ["meter#*"] },
    ]
  }

  # Direct dispatch: mcp invokes what serves tools, gives back what failed, and reads whether the
  # brake is on. settle looks up what an invocation of mcp had admitted that ended without an answer.
  invoked        = { for name in toset([for operation in local.operations : operation.x-sekisho.function if try(operation.x-sekisho.tool, false)]) : name => "${var.name}-${name}:live" }
  dispatch_log   = "/aws/lambda/${var.name}-mcp"
  dispatch_logs  = local.direct ? { SEKISHO_DISPATCH_LOG_GROUP = local.dispatch_log } : {}
  dispatch_reads = local.direct ? [{ actions = ["logs:FilterLogEvents"], resources = ["arn:${local.location.partition}:logs:${local.location.region}:${local.location.account_id}:log-group:${local.dispatch_log}:*"] }] : []
  dispatching = {
    environment = merge(local.gate.environment, {
      SEKISHO_DISPATCH        = var.mcp.dispatch
      SEKISHO_FUNCTIONS       = jsonencode(local.invoked)
      SEKISHO_BRAKE_PARAMETER = module.brake.parameter
    })
    statements = concat(local.gate.statements, [
      { actions = ["dynamodb:PutItem"], resources = [local.table_arns.usage], leading_keys = ["refund#*"] },
      { actions = ["lambda:InvokeFunction"], resources = [for name in values(local.invoked) : "arn:${local.location.partition}:lambda:${local.location.region}:${local.location.account_id}:function:${name}"] },
      { actions = ["ssm:GetParameter"], resources = ["arn:${local.location.partition}:ssm:${local.location.region}:${local.location.account_id}:parameter${module.brake.parameter}"] },
    ])
  }

  # The OAuth door. oauth makes grants, and mcp reads them; account shows and ends what there is of them,
  # also where the door was closed since. With an issuer there are none, and mcp makes its users, if it may.
  external_issuer = var.oauth.enabled && var.oauth.issuer != null
  makes_users     = local.external_issuer && var.oauth.new_user_plan != null
  own_grants      = var.oauth.enabled && var.oauth.issuer == null
  oauth = {
    own = {
      environment = {
        SEKISHO_ACCOUNTS_TABLE       = module.usage.names.accounts
        SEKISHO_OAUTH_CLIENTS        = jsonencode(var.oauth.clients)
        SEKISHO_OAUTH_CLIENT_HOSTS   = join(",", var.oauth.client_hosts)
        SEKISHO_OAUTH_REDIRECT_HOSTS = join(",", var.oauth.redirect_hosts)
        SEKISHO_OAUTH_REGISTRATION   = tostring(var.oauth.registration)
        SEKISHO_OAUTH_ACCESS_MINUTES = tostring(var.oauth.access_minutes)
        SEKISHO_OAUTH_GRANT_DAYS     = tostring(var.oauth.grant_days)
      }
      statements = [
        { actions = ["dynamodb:GetItem"], resources = [local.table_arns.accounts], leading_keys = ["grant#*", "grants#*", "key#*"] },
        { actions = ["dynamodb:BatchGetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.accounts], leading_keys = ["grant#*"] },
        { actions = ["dynamodb:PutItem"], resources = [local.table_arns.accounts], leading_keys = ["grant#*", "grants#*"] },
      ]
    }

    external = {
      environment = { for name, value in {
        SEKISHO_OAUTH_ISSUER       = var.oauth.issuer
        SEKISHO_OAUTH_SCOPE        = var.oauth.scope
        SEKISHO_OAUTH_OWN_METADATA = tostring(var.oauth.own_metadata)
      } : name => value if value != null }
      statements = []
    }

    mcp = {
      environment = { for name, value in {
        SEKISHO_OAUTH_ISSUER        = var.oauth.issuer
        SEKISHO_OAUTH_AUDIENCE      = var.oauth.audience
        SEKISHO_OAUTH_SCOPE         = var.oauth.scope
        SEKISHO_OAUTH_NEW_USER_PLAN = var.oauth.new_user_plan
      } : name => value if local.external_issuer && value != null }
      statements = [for s in [
        { needed = local.own_grants, actions = ["dynamodb:GetItem"], items = ["grant#*"] },
        { needed = local.makes_users, actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], items = ["user#*"] },
        { needed = local.makes_users, actions = ["dynamodb:PutItem"], items = ["key#*", "user#*"] },
      ] : { actions = s.actions, resources = [local.table_arns.accounts], leading_keys = s.items } if s.needed]
    }
  }

  # An instance serves one call at a time, for which a second processor costs more than it gives. The
  # root certificates are in one file already: reading those of the directory too, where the system
  # has them a second time, takes half of a function's first call (golang/go#79018).
  process = { GOMAXPROCS = "1", SSL_CERT_DIR = "/nonexistent" }

  # The environment of each function, and its rights beyond its own log.
  definitions = {
    oauth = local.external_issuer ? local.oauth.external : local.oauth.own

    authorizer = local.gate

    account = {
      environment = {
        SEKISHO_ACCOUNTS_TABLE = module.usage.names.accounts
        SEKISHO_USAGE_TABLE    = module.usage.names.usage
        SEKISHO_PLANS          = local.plans
        SEKISHO_UPGRADE_URL    = var.settings.upgrade_url
      }
      statements = [
        { actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.accounts], leading_keys = ["grant#*", "key#*"] },
        { actions = ["dynamodb:BatchGetItem"], resources = [local.table_arns.accounts], leading_keys = ["grant#*", "grants#*"] },
        { actions = ["dynamodb:BatchGetItem", "dynamodb:GetItem"], resources = [local.table_arns.usage], leading_keys = ["meter#*"] },
      ]
    }

    # The address of a door is known only after the functions are there, unless it is a domain.
    page = {
      environment = var.mcp.door == "rest" ? {} : { SEKISHO_MCP_URL = var.mcp.domain == null ? "elsewhere" : "https://${var.mcp.domain.name}/mcp" }
    }

    mcp = {
      # Collecting only near the limit halves the function's CPU time.
      environment = merge(local.direct ? local.dispatching.environment : local.key_cache, local.streams ? { SEKISHO_STREAMING = "true" } : {}, local.oauth.mcp.environment, {
        SEKISHO_ACCOUNTS_TABLE  = module.usage.names.accounts
        SEKISHO_ALLOWED_ORIGINS = join(",", var.settings.allowed_origins)
        SEKISHO_TOOL_NAMES      = var.settings.tool_names
        SEKISHO_LISTING         = var.settings.listing
        SEKISHO_LISTING_TOKENS  = var.settings.listing_budget == null ? "" : tostring(var.settings.listing_budget)
        GOGC                    = "off"
        GOMEMLIMIT              = "${floor(0.8 * local.runtimes.mcp.memory_mb)}MiB"
      })
      statements = concat(local.oauth.mcp.statements, [for s in local.dispatching.statements : s if local.direct], [for s in [local.reads_keys] : s if !local.direct])
    }

    # A transaction needs the permissions of its parts.
    settle = {
      environment = merge(local.dispatch_logs, {
        SEKISHO_USAGE_TABLE     = module.usage.names.usage
        SEKISHO_USAGE_TOPIC_ARN = module.alerts.usage_topic_arn
      })
      statements = concat(local.dispatch_reads, [
        { actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage], leading_keys = ["meter#*"] },
        { actions = ["dynamodb:PutItem"], resources = [local.table_arns.usage], leading_keys = ["once#*", "refund#*"] },
        { actions = ["dynamodb:DeleteItem"], resources = [local.table_arns.usage], leading_keys = ["once#*"] },
        { actions = ["sns:Publish"], resources = [module.alerts.usage_topic_arn] },
      ])
    }
  }

  # What makes spans of its own: mcp, and whatever serves tools or answers key holders.
  traced = [for name in local.served : name if name != "page"]
  otlp = var.observability.otlp == null ? {} : {
    OTEL_EXPORTER_OTLP_ENDPOINT = var.observability.otlp.endpoint
    OTEL_TRACES_SAMPLER_ARG     = tostring(var.observability.otlp.ratio)
  }

  functions = {
    for name, given in local.given : name => {
      runtime              = local.runtimes[name]
      reserved_concurrency = coalesce(given.reserved_concurrency, -1)
      traffic              = given.traffic
      statements           = try(local.relays[name].statements, local.definitions[name].statements, [])
      vpc                  = try(local.relays[name].vpc, contains(try(var.account.vpc.functions, []), name) ? var.account.vpc : null)
      environment = merge(
        local.process,
        { SEKISHO_LOG_LEVEL = var.settings.log_level },
        contains(local.traced, name) ? local.otlp : {},
        try(local.relays[name].environment, local.definitions[name].environment, {}),
        given.environment,
      )
    }
  }
}
