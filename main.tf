data "aws_caller_identity" "this" {}

data "aws_partition" "this" {}

data "aws_region" "this" {}

data "aws_servicequotas_service_quota" "concurrency" {
  count = var.concurrency_quota == null ? 1 : 0

  service_code = "lambda"
  quota_code   = local.quota_code
}

locals {
  # Where everything lives, and what the account asks of it.
  location = {
    partition            = data.aws_partition.this.partition
    region               = data.aws_region.this.id
    account_id           = data.aws_caller_identity.this.account_id
    permissions_boundary = var.account.permissions_boundary
    role_path            = var.account.role_path
    kms_key_arn          = var.account.kms_key_arn
    tags                 = merge(var.tags, { (local.tag.key) = local.tag.value })
  }

  # The budget counts what carries this tag, so every resource does.
  tag = { key = "sekisho-stack", value = var.name }

  quota_code      = "L-B99A9384" # Lambda, concurrent executions
  quota           = var.concurrency_quota == null ? data.aws_servicequotas_service_quota.concurrency[0].value : var.concurrency_quota
  reservations    = { for name, function in local.functions : name => function.reserved_concurrency if function.reserved_concurrency > 0 }
  reserved        = sum(concat([0], values(local.reservations)))
  must_stay_free  = 100
  can_be_reserved = max(0, local.quota - local.must_stay_free)
}

module "usage" {
  source = "./modules/usage"

  name                 = var.name
  max_units_per_second = var.tables.max_units_per_second
  kms_key_arn          = var.account.kms_key_arn
  tags                 = local.location.tags

  protection = {
    deletion_protection    = var.tables.deletion_protection
    point_in_time_recovery = var.tables.point_in_time_recovery
  }
}

module "alerts" {
  source = "./modules/alerts"

  name              = var.name
  location          = local.location
  emails            = var.cost.emails
  operations_emails = var.observability.emails
  tag               = local.tag

  budget = {
    monthly_usd      = var.cost.monthly_usd
    actual_percent   = var.cost.actual_percent
    forecast_percent = var.cost.forecast_percent
  }

  anomaly = {
    impact_usd  = var.cost.anomaly_usd
    monitor_arn = var.cost.monitor_arn
    own_monitor = var.cost.own_monitor
  }

  publishing_roles = { brake = "${var.name}-brake" }

  usage = {
    publishing_role = "${var.name}-settle"
    subscriptions   = var.alerts.subscriptions
  }
}

module "function" {
  source   = "./modules/function"
  for_each = local.functions

  name                 = "${var.name}-${each.key}"
  zip                  = "${var.dist}/${local.binaries[each.key]}.zip"
  location             = merge(local.location, { vpc = each.value.vpc })
  runtime              = each.value.runtime
  environment          = each.value.environment
  statements           = each.value.statements
  reserved_concurrency = module.brake.on && contains(local.brake.functions, each.key) ? 0 : each.value.reserved_concurrency
  log_retention_days   = var.observability.log_retention_days
  traffic              = each.value.traffic
  # A wrong key is an error that the authorizer returns: API Gateway knows no other way to a 401.
  alarms = merge(local.alarms, { errors_in = each.key == "authorizer" ? "log" : "metric" })
}

module "api" {
  source = "./modules/api"

  name     = var.name
  contract = local.contract_file
  location = local.location
  stage    = var.api.stage
  throttle = merge(var.api.throttle, { braked = module.brake.on, methods = local.throttled })
  waf      = var.api.waf
  domain   = var.api.domain

  functions = {
    for name, function in module.function : name => {
      name            = function.name
      timeout_seconds = local.functions[name].runtime.timeout_seconds
      lists           = local.started_by[name] == "proxy"
      follows         = function.version
      elsewhere       = name == local.elsewhere
      streaming       = name == "mcp" && var.mcp.streaming
    } if !contains(local.at_oauth_door, name)
  }

  access_log = {
    retention_days = var.observability.log_retention_days
    settle         = { function_name = module.function["settle"].name }
  }
}

# What /mcp is reached by, if not by the REST API. Terraform could not tell mcp where that API is, which
# it calls, since that API is made after mcp: the door does.
module "door" {
  source = "./modules/door"
  count  = local.elsewhere == null ? 0 : 1

  name     = "${var.name}-mcp"
  kind     = var.mcp.door
  location = local.location
  routes   = { for route in local.door_routes : route => { function = "mcp" } }
  throttle = { rate_per_second = var.api.throttle.rate_per_second, burst = var.api.throttle.burst }
  domain   = var.mcp.domain

  functions = { mcp = local.behind_doors.mcp }
  variables = { rest_address = module.api.url }
}

# Where people sign in, and their hosts call /mcp with tokens. Its functions know by the stage variable
# oauth_address that a request came by this door.
module "oauth_door" {
  source = "./modules/door"
  count  = var.oauth.enabled ? 1 : 0

  name     = "${var.name}-oauth"
  kind     = "http"
  location = local.location
  throttle = { rate_per_second = local.oauth_door.rate_per_second, burst = local.oauth_door.burst }
  domain   = var.oauth.domain

  functions        = local.behind_doors
  variables        = { rest_address = module.api.url }
  address_variable = "oauth_address"

  routes = local.oauth_door.routes
}

locals {
  behind_doors = {
    for name in concat(["mcp"], local.at_oauth_door) : name => {
      name                 = module.function[name].name
      alias                = name == "mcp" ? module.api.aliases.mcp : "live"
      timeout_seconds      = local.runtimes[name].timeout_seconds
      reserved_concurrency = local.functions[name].reserved_concurrency
    }
  }

  # What each route of the OAuth door lets through: never more than the ceiling of all.
  oauth_ceilings = {
    for key, route in local.oauth_routes : key => {
      function        = route.function
      rate_per_second = !can(route.rate_per_second) ? var.api.throttle.rate_per_second : var.api.throttle.rate_per_second == -1 ? route.rate_per_second : min(route.rate_per_second, var.api.throttle.rate_per_second)
      burst           = !can(route.burst) ? var.api.throttle.burst : var.api.throttle.burst == -1 ? route.burst : min(route.burst, var.api.throttle.burst)
    }
  }

  # As the door is made: a route that is not throttled by itself has the throttle of the API.
  oauth_door = {
    rate_per_second = var.api.throttle.rate_per_second
    burst           = var.api.throttle.burst
    routes = {
      for key, route in local.oauth_routes : key => {
        function        = route.function
        rate_per_second = can(route.rate_per_second) ? local.oauth_ceilings[key].rate_per_second : null
        burst           = can(route.burst) ? local.oauth_ceilings[key].burst : null
      }
    }
  }

  # What mcp serves, and what the REST API would answer for it. With a final slash a path is another
  # one to an HTTP API, and few clients follow a redirect.
  door_routes = concat(
    flatten([for operation in local.operations : ["ANY ${operation.path}", "ANY ${operation.path}/"] if try(operation.x-sekisho.function, null) == "mcp"]),
    [for operation in local.operations : "${operation.verb} ${operation.path}" if try(operation.operationId, null) == "system.register"],
  )

  door = {
    kind            = var.mcp.door
    routes          = var.mcp.door == "http" ? local.door_routes : []
    rate_per_second = var.mcp.door == "http" ? var.api.throttle.rate_per_second : -1
    burst           = var.mcp.door == "http" ? var.api.throttle.burst : -1
  }
}

# What mcp says of the calls that it dispatches itself.
module "settled_log" {
  source = "./modules/settled_log"
  count  = local.direct ? 1 : 0

  log_group      = module.function["mcp"].log_group
  filter_pattern = local.contract.x-sekisho-dispatch-filter
  settle         = { function_name = module.function["settle"].name }
  location       = local.location
}

locals {
  alarms = { topic_arns = [module.alerts.operations_topic_arn], playbooks = var.observability.playbooks }
}

# What anybody may call without a key, and nobody needs often: never more than the ceiling of all. A
# browser asks for all files of the page at once, and then for good has them.
locals {
  strangers = {
    "GET /v1/health"             = { rate_per_second = 5, burst = 10 }
    "POST /register"             = { rate_per_second = 5, burst = 10 }
    "GET /"                      = { rate_per_second = 5, burst = 10 }
    "GET /page/{version}/{file}" = { rate_per_second = 10, burst = 40 }
  }
  quiet = {
    for operation in local.operations : "${operation.verb} ${operation.path}" => {
      for part, most in local.strangers["${operation.verb} ${operation.path}"] :
      part => var.api.throttle[part] == -1 ? most : min(most, var.api.throttle[part])
    } if contains(keys(local.strangers), "${operation.verb} ${operation.path}")
  }

  # Of the verbs that ANY stands for, the brake closes all or none.
  throttled = {
    for name, throttle in merge(local.quiet, var.api.throttle.methods) : name => merge(throttle, {
      closed = module.brake.on && try(local.methods[replace(name, "/^ANY /", "POST ")].closed, false)
    })
  }
}

# What the functions run with, for those who price it: started_by says what bounds how often each
# of them starts.
locals {
  deployed = {
    for name, function in local.functions : name => {
      name                 = "${var.name}-${name}"
      started_by           = local.started_by[name]
      memory_mb            = function.runtime.memory_mb
      timeout_seconds      = function.runtime.timeout_seconds
      architecture         = function.runtime.architecture
      reserved_concurrency = function.reserved_concurrency
    }
  }

  # A weekend that nobody watches may not use up the month.
  hours_unwatched = 72
  usd_per_hour    = var.cost.live.usd_per_hour == null ? ceil(var.cost.monthly_usd / local.hours_unwatched * 10000) / 10000 : var.cost.live.usd_per_hour
}

module "spend_alarm" {
  source = "./modules/spend_alarm"

  name       = var.name
  topic_arns = [module.alerts.topic_arn]
  trip       = { usd_per_hour = local.usd_per_hour, datapoints = var.cost.live.datapoints, of = var.cost.live.of }
  prices     = { region = local.location.region, table = "${path.module}/functions/internal/money/price/prices.json", usd = var.cost.prices }
  api        = { name = var.name, stage = var.api.stage }
  door       = { kind = var.mcp.door, api_id = one(module.door[*].api_id), oauth_api_id = one(module.oauth_door[*].api_id), oauth = var.oauth.enabled, dispatch = var.mcp.dispatch }
  functions  = local.deployed
  tables     = module.usage.names
  playbooks  = var.observability.playbooks
  tags       = local.location.tags
}

# What bounds an hour, for Terraform and for `sekisho worst-case`.
locals {
  ceilings = {
    prices                 = module.spend_alarm.prices.usd
    note                   = module.spend_alarm.prices.note
    throttle               = { rate_per_second = var.api.throttle.rate_per_second, burst = var.api.throttle.burst }
    functions              = merge(local.deployed, { brake = merge(local.brake.runtime, { started_by = "messages", reserved_concurrency = -1 }) })
    tables                 = { for role in keys(module.usage.names) : role => var.tables.max_units_per_second }
    unreserved_concurrency = max(0, local.quota - local.reserved)
    braked                 = local.brake.functions
    door                   = local.door
    oauth_routes           = local.oauth_ceilings
    dispatch               = var.mcp.dispatch
    trip                   = module.spend_alarm.trip
  }
}

module "worst_case" {
  source = "./modules/worst_case"

  prices                 = local.ceilings.prices
  trip                   = local.ceilings.trip
  methods                = { for name, method in local.methods : name => merge(method, local.ceilings.throttle) }
  functions              = local.ceilings.functions
  tables                 = local.ceilings.tables
  unreserved_concurrency = local.ceilings.unreserved_concurrency
  door                   = merge(local.ceilings.door, { oauth_routes = local.ceilings.oauth_routes })
  dispatch               = local.ceilings.dispatch
  braked                 = local.ceilings.braked

  most = merge(
    { for name, row in jsondecode(file("${path.module}/functions/internal/money/worstcase/most.json")) : name => row.value },
    { answer_bytes = local.contract.x-sekisho-limits.answer_bytes },
  )
}

module "brake" {
  source = "./modules/brake"

  name               = var.name
  location           = local.location
  zip                = "${var.dist}/brake.zip"
  runtime            = local.brake.runtime
  functions          = [for name in local.brake.functions : "${var.name}-${name}"]
  api                = { id = module.api.id, stage = var.api.stage }
  accounts_table     = module.usage.names.accounts
  log_retention_days = var.observability.log_retention_days
  alarms             = local.alarms

  obeys = {
    topic_name     = module.alerts.topic_name
    alarm_names    = module.spend_alarm.names
    budget_name    = module.alerts.budget_name
    budget_percent = var.cost.brake.percent
  }
}

module "observability" {
  source = "./modules/observability"

  name     = var.name
  counting = { admissions = local.direct ? "mcp" : null }
  region   = local.location.region
  tables   = module.usage.names
  alarms   = merge(var.observability.alarms, { playbooks = local.alarms.playbooks, topic_arns = local.alarms.topic_arns })
  tags     = local.location.tags

  functions = {
    for name, function in merge(module.function, { brake = module.brake }) : name => {
      name                 = function.name
      log_group            = function.log_group
      memory_mb            = function.applied.memory_mb
      architecture         = function.applied.architecture
      reserved_concurrency = try(local.functions[name].reserved_concurrency, -1) # as declared, also while the brake is on
    }
  }

  money = {
    prices             = module.spend_alarm.prices.usd_for_one
    alarm_usd_per_hour = module.spend_alarm.trip.usd_per_hour
  }

  api = {
    name             = module.api.name
    stage            = module.api.stage
    access_log_group = module.api.access_log_group
    query_fields     = local.contract.x-sekisho-query-fields
  }

  door = { kind = var.mcp.door, api_id = one(module.door[*].api_id), oauth = var.oauth.enabled, oauth_api_id = one(module.oauth_door[*].api_id) }
}

# A deploy while the brake is on may be the cure, so it is not refused; but it says what it does.
check "brake" {
  assert {
    condition     = !module.brake.on
    error_message = "The brake of ${var.name} is on. This leaves it on: functions that it stopped stay at 0, and its methods stay closed. To release it: ${module.brake.release}"
  }
}
