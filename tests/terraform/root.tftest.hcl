# The composition, planned with a mock of AWS. scripts/terraform-test gives dist.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_data "aws_region" {
    defaults = { id = "us-east-1" }
  }
  mock_data "aws_servicequotas_service_quota" {
    defaults = { value = 1000 }
  }

  # OpenTofu makes up values when planning, and the provider checks that an ARN looks like one.
  mock_resource "aws_api_gateway_rest_api" {
    defaults = { execution_arn = "arn:aws:execute-api:us-east-1:123456789012:abc123" }
  }
  mock_resource "aws_cloudwatch_log_group" {
    defaults = { arn = "arn:aws:logs:us-east-1:123456789012:log-group:demo" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/demo" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-4000-8000-000000000000" }
  }
  mock_resource "aws_sns_topic" {
    defaults = { arn = "arn:aws:sns:us-east-1:123456789012:demo" }
  }
  mock_resource "aws_sqs_queue" {
    defaults = { arn = "arn:aws:sqs:us-east-1:123456789012:demo" }
  }
}

variables {
  name = "demo"
}

run "direct_dispatch" {
  command = plan

  variables {
    mcp = { dispatch = "direct" }
  }

  assert {
    condition     = length(module.settled_log) == 1 && output.applied.functions.mcp.environment.SEKISHO_DISPATCH == "direct" && output.applied.functions.settle.environment.SEKISHO_DISPATCH_LOG_GROUP == "/aws/lambda/demo-mcp"
    error_message = "mcp dispatches calls itself, and settle reads its log."
  }

  assert {
    condition     = jsondecode(output.applied.functions.mcp.environment.SEKISHO_FUNCTIONS) == { for name in ["account", "calendar", "convert", "external", "postal"] : name => "demo-${name}:live" }
    error_message = "mcp invokes what serves tools, by the alias that callers get."
  }

  assert {
    condition     = !contains(local.brake.functions, "mcp") && !local.methods["POST /mcp"].closed && length(local.brake.functions) > 0
    error_message = "The brake leaves mcp and its method alone: mcp says that the brake is on."
  }
}

run "direct_dispatch_spares_mcp" {
  command = plan

  variables {
    mcp  = { dispatch = "direct" }
    cost = { brake = { functions = ["mcp", "postal"] } }
  }

  expect_failures = [var.cost]
}

run "refuses_unknown_dispatch" {
  command = plan

  variables {
    mcp = { dispatch = "tunnel", door = "window" }
  }

  expect_failures = [var.mcp]
}

run "wiring" {
  command = plan

  variables {
    plans     = merge(jsondecode(file("functions/internal/account/testdata/plans.json")).accepted, { as_before = null })
    alerts    = { usage_percent = [50, 90, 100] }
    functions = { mcp = { memory_mb = 1024, reserved_concurrency = 900, environment = { EXTRA = "1" }, traffic = { requests_per_second = 5, seconds = 0.4 } } }
  }

  assert {
    condition     = toset(keys(output.applied.functions)) == setunion(local.names, ["brake"]) && output.applied.functions.mcp.environment == tomap({ EXTRA = "1", GOGC = "off", GOMAXPROCS = "1", GOMEMLIMIT = "819MiB", SEKISHO_ACCOUNTS_TABLE = "demo-accounts", SEKISHO_ALLOWED_ORIGINS = "", SEKISHO_KEY_CACHE_SECONDS = "30", SEKISHO_LISTING = "auto", SEKISHO_LISTING_TOKENS = "", SEKISHO_LOG_LEVEL = "info", SEKISHO_TOOL_NAMES = "underscore", SSL_CERT_DIR = "/nonexistent" })
    error_message = "What is given for a function comes on top of what it needs."
  }

  assert {
    condition     = output.applied.functions.authorizer.environment.SEKISHO_PLANS == jsonencode(merge(jsondecode(file("functions/internal/account/testdata/plans.json")).accepted, { as_before = {} }))
    error_message = "Plans are handed on as written, without the parts that are left out."
  }

  assert {
    condition     = output.applied.functions.authorizer.environment.SEKISHO_USAGE_PERCENT == "50,90,100" && output.applied.functions.settle.environment.SEKISHO_USAGE_TOPIC_ARN == "arn:aws:sns:us-east-1:123456789012:demo-usage" && output.usage_topic_arn == "arn:aws:sns:us-east-1:123456789012:demo-usage"
    error_message = "The authorizer knows the thresholds, and settle the topic that hears of them."
  }

  assert {
    condition     = output.concurrency == { quota = 1000, reserved = 900, unreserved = 100 }
    error_message = "Exactly 100 may be left unreserved."
  }

  # 5 × 0.4 = 2 at a time; 2 + 2√2 = 4.83.
  assert {
    condition     = output.sizing == { mcp = { mean_concurrency = 2, suggested_concurrency = 5 } }
    error_message = "Sizing follows the declared traffic."
  }
}

run "defaults" {
  command = plan

  assert {
    condition     = output.applied.functions.authorizer.environment.SEKISHO_PLANS == jsonencode(jsondecode(file("functions/internal/account/testdata/plans.json")).default) && output.applied.functions.account.environment.SEKISHO_PLANS == output.applied.functions.authorizer.environment.SEKISHO_PLANS
    error_message = "Go has the same default plans."
  }

  assert {
    condition     = output.applied.functions.authorizer.environment.SEKISHO_USAGE_PERCENT == "80,100"
    error_message = "Unless given, messages are sent at 80 and 100 % of a month."
  }

  assert {
    condition     = var.tables.deletion_protection && var.tables.point_in_time_recovery
    error_message = "Unless switched off, tables are protected and backed up."
  }

  assert {
    condition     = output.applied.functions.external.environment.SEKISHO_BACKEND == jsonencode({ name = "external" }) && length(local.functions.external.statements) == 0
    error_message = "Without an address the function says so, and may do nothing."
  }
}

run "may_decrypt_with_a_key_of_ones_own" {
  command = plan

  variables {
    backends = {
      external = {
        url     = "https://api.example.com"
        auth    = { type = "bearer", parameter = "upstream-token", kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab" }
        per_day = { "external.publish_content" = 3 }
      }
    }
  }

  assert {
    condition = jsondecode(output.applied.functions.external.environment.SEKISHO_BACKEND).per_day["external.publish_content"] == 3 && jsonencode(slice(local.functions.external.statements, 1, 3)) == jsonencode([
      { actions = ["ssm:GetParameter"], resources = ["arn:aws:ssm:us-east-1:123456789012:parameter/upstream-token"] },
      { actions = ["kms:Decrypt"], resources = ["arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"] },
    ])
    error_message = "The one parameter, and the one key."
  }
}

run "refuses_reservations_above_the_quota" {
  command = plan

  variables {
    concurrency_quota = 10
    functions         = { calendar = { reserved_concurrency = 1 } }
  }

  expect_failures = [output.concurrency]
}

run "takes_a_quota_of_10_without_reservations" {
  command = plan

  variables {
    concurrency_quota = 10
    functions         = { calendar = { reserved_concurrency = 0 } }
  }

  assert {
    condition     = output.concurrency.unreserved == 10
    error_message = "Switching a function off reserves nothing."
  }
}

run "what_the_account_asks" {
  command = plan

  variables {
    account = {
      permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
      role_path            = "/service/"
      kms_key_arn          = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
      vpc                  = { subnet_ids = ["subnet-1"], security_group_ids = ["sg-1"] }
    }
    tags = { team = "agents" }
  }

  assert {
    condition     = tomap(local.location.tags) == tomap({ sekisho-stack = "demo", team = "agents" })
    error_message = "Tags of one's own come beside the one that the budget counts by."
  }
}

run "refuses_wrong_values_of_the_account" {
  command = plan

  variables {
    account = { permissions_boundary = "boundary", role_path = "service", vpc = { subnet_ids = [], security_group_ids = [], functions = ["nobody"] } }
  }

  expect_failures = [var.account]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name              = ""
    plans             = { free = { monthly = -1 } }
    alerts            = { usage_percent = [80, 80] }
    settings          = { tool_names = "dotted", listing = "some", listing_budget = 0.5, log_level = "trace", upgrade_url = "http://example.com/\"" }
    functions         = { calender = {}, mcp = { architecture = "arm" } }
    concurrency_quota = 0.5
    backends          = { external = { url = "http://api.example.com" } }
  }

  expect_failures = [var.name, var.plans, var.alerts, var.settings, var.functions, var.concurrency_quota, var.backends]
}

run "brake_stops_what_serves_calls" {
  command = plan

  assert {
    condition     = toset(split(",", output.applied.functions.brake.environment.SEKISHO_BRAKE_FUNCTIONS)) == toset([for name in local.served : "demo-${name}" if lookup(lookup(local.contract.x-sekisho-functions, name, {}), "braked", true)])
    error_message = "Unless given, the brake stops everything that serves calls, except what the contract spares."
  }

  assert {
    condition     = output.brake == "sekisho brake off --region us-east-1 --function demo-brake"
    error_message = "An output has the command that releases the brake."
  }
}

run "runs_with_what_the_contract_says" {
  command = plan

  variables {
    functions = { calendar = { timeout_seconds = 7 } }
  }

  assert {
    condition     = output.applied.functions.mcp.timeout_seconds == local.contract.x-sekisho-functions.mcp.timeout_seconds && output.applied.functions.brake.memory_mb == local.contract.x-sekisho-functions.brake.memory_mb && output.applied.functions.postal.timeout_seconds == local.contract.x-sekisho-functions.default.timeout_seconds
    error_message = "Memory and timeout come from the contract's table, and from its default where it has no entry."
  }

  assert {
    condition     = output.applied.functions.calendar.timeout_seconds == 7 && output.applied.functions.calendar.memory_mb == local.contract.x-sekisho-functions.default.memory_mb
    error_message = "What is given comes before the table; the rest stays."
  }
}

# 10 dollars a month, in 72 hours.
run "alarm_follows_the_budget" {
  command = plan

  assert {
    condition     = output.live_alarm.usd_per_hour == 0.1389 && toset(output.live_alarm.names) == toset(["demo-spend-rate", "demo-spend-average"])
    error_message = "Unless given, the alarm trips at what uses up the budget over a weekend."
  }
}

run "brake_that_no_message_reaches" {
  command = plan

  variables {
    cost = { actual_percent = [50, 80] }
  }

  expect_failures = [var.cost]
}

run "refuses_what_is_misspelt" {
  command = plan

  variables {
    as_written = { plans = { free = { monthly = 5, per_minute = 2 } }, functions = { mcp = { memroy_mb = 1 } }, cost = { emails = ["a@example.com"], live = { of = 5 } } }
    plans      = { free = { monthly = 5 } }
    functions  = { mcp = {} }
    cost       = { emails = ["a@example.com"] }
  }

  expect_failures = [output.concurrency]
}

run "brake_stops_what_it_is_told" {
  command = plan

  variables {
    cost = { brake = { percent = 80, functions = ["external"] } }
  }

  assert {
    condition     = output.applied.functions.brake.environment.SEKISHO_BRAKE_FUNCTIONS == "demo-external" && output.applied.functions.brake.environment.SEKISHO_BRAKE_BUDGET_PERCENT == "80"
    error_message = "Functions and threshold may be given."
  }
}

run "brake_never_stops_the_door" {
  command = plan

  variables {
    cost = { brake = { functions = ["mcp", "account"] } }
  }

  expect_failures = [var.cost]
}

run "brake_stops_no_strangers" {
  command = plan

  variables {
    cost = { brake = { functions = ["mcp", "postman"] } }
  }

  expect_failures = [var.cost]
}

run "door_http" {
  command = plan

  variables {
    mcp = { door = "http" }
    api = { throttle = { rate_per_second = 7, burst = 9 } }
  }

  assert {
    condition     = !can(jsondecode(output.applied.body).paths["/mcp"]) && can(jsondecode(output.applied.body).paths["/v1/health"])
    error_message = "The REST API leaves /mcp to its door, and keeps the rest."
  }

  assert {
    condition     = alltrue([for door in [output.door, output.applied.door, output.ceilings.door] : jsonencode(door) == jsonencode({ kind = "http", routes = ["ANY /mcp", "ANY /mcp/", "POST /register"], rate_per_second = 7, burst = 9 })])
    error_message = "The door serves what the contract says, under the ceiling of the API."
  }

  assert {
    condition     = !can(output.applied.functions.mcp.environment.SEKISHO_STREAMING)
    error_message = "An HTTP API can't stream."
  }
}

run "door_url" {
  command = plan

  variables {
    mcp       = { dispatch = "direct", door = "url" }
    functions = { mcp = { reserved_concurrency = 20, timeout_seconds = 600 } }
  }

  assert {
    condition     = output.applied.functions.mcp.environment.SEKISHO_STREAMING == "true" && output.applied.functions.mcp.timeout_seconds == 600
    error_message = "A function URL streams, for as long as the function may take."
  }
}

run "streaming" {
  command = plan

  variables {
    mcp       = { streaming = true }
    functions = { mcp = { timeout_seconds = 120 } }
  }

  assert {
    condition = {
      for member, value in jsondecode(output.applied.body).paths["/mcp"]["x-amazon-apigateway-any-method"]["x-amazon-apigateway-integration"] : member => value if contains(["responseTransferMode", "timeoutInMillis", "uri"], member)
      } == {
      responseTransferMode = "STREAM"
      timeoutInMillis      = 121000
      uri                  = "arn:aws:apigateway:us-east-1:lambda:path/2021-11-15/functions/arn:aws:lambda:us-east-1:123456789012:function:demo-mcp:live/response-streaming-invocations"
    }
    error_message = "The REST API invokes mcp for a stream, and waits as long as the function may take."
  }

  assert {
    condition     = !can(jsondecode(output.applied.body).paths["/v1/user/usage"].get["x-amazon-apigateway-integration"].responseTransferMode)
    error_message = "No other function is invoked for a stream."
  }
}

run "url_with_proxy" {
  command = plan

  variables {
    mcp       = { door = "url" }
    functions = { mcp = { reserved_concurrency = 20 } }
  }

  expect_failures = [var.mcp]
}

run "streaming_by_http" {
  command = plan

  variables {
    mcp = { door = "http", streaming = true }
  }

  expect_failures = [var.mcp]
}

# The OAuth door with the stack's own authorization server.
run "oauth" {
  command = plan

  variables {
    mcp   = { dispatch = "direct", door = "http" }
    api   = { throttle = { rate_per_second = 7, burst = 30 } }
    oauth = { enabled = true, clients = { desk = { name = "Desk", redirect_uris = ["https://desk.example.com/callback", "http://127.0.0.1/callback", "com.example.desk:/callback"] } }, redirect_hosts = ["chatgpt.com", "localhost", "cursor:"] }
  }

  assert {
    condition     = toset(keys(local.oauth_routes)) == toset(keys(local.contract.x-sekisho-oauth-routes)) && join(" ", local.at_oauth_door) == "oauth" && contains(local.brake.functions, "oauth")
    error_message = "The door has the contract's routes, and what it leads to is deployed and braked."
  }

  assert {
    condition     = local.oauth_ceilings["ANY /token"] == { function = "oauth", rate_per_second = 7, burst = 20 } && local.oauth_ceilings["ANY /mcp"] == { function = "mcp", rate_per_second = 7, burst = 30 } && output.ceilings.oauth_routes == local.oauth_ceilings
    error_message = "No route lets through more than the ceiling of all, and strangers get less."
  }

  assert {
    condition = output.applied.functions.oauth.environment == tomap({
      GOMAXPROCS                   = "1"
      SEKISHO_ACCOUNTS_TABLE       = "demo-accounts"
      SEKISHO_LOG_LEVEL            = "info"
      SEKISHO_OAUTH_ACCESS_MINUTES = "60"
      SEKISHO_OAUTH_CLIENTS        = "{\"desk\":{\"name\":\"Desk\",\"redirect_uris\":[\"https://desk.example.com/callback\",\"http://127.0.0.1/callback\",\"com.example.desk:/callback\"]}}"
      SEKISHO_OAUTH_CLIENT_HOSTS   = ""
      SEKISHO_OAUTH_GRANT_DAYS     = "90"
      SEKISHO_OAUTH_REDIRECT_HOSTS = "chatgpt.com,localhost,cursor:"
      SEKISHO_OAUTH_REGISTRATION   = "true"
      SSL_CERT_DIR                 = "/nonexistent"
    })
    error_message = "The function is told who may sign people in, and for how long."
  }

  assert {
    condition     = jsonencode([for key in ["ANY /mcp", "ANY /token"] : output.applied.oauth.routes[key]]) == jsonencode([{ function = "mcp", rate_per_second = null, burst = null }, { function = "oauth", rate_per_second = 7, burst = 20 }]) && output.applied.oauth.burst == 30
    error_message = "The laptop is told what was applied: /mcp has the throttle of the API."
  }

  assert {
    condition     = length([for name, value in output.applied.functions.mcp.environment : name if startswith(name, "SEKISHO_OAUTH_")]) == 0
    error_message = "mcp knows the door by its stage variable alone."
  }
}

# A company's own authorization server: only metadata is left for the function.
run "oauth_issuer" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, issuer = "https://login.example.com/tenant", audience = "sekisho", scope = "mcp", new_user_plan = "free", own_metadata = true }
  }

  assert {
    condition     = toset(keys(local.oauth_routes)) == toset(["ANY /.well-known/oauth-authorization-server", "ANY /.well-known/oauth-protected-resource", "ANY /.well-known/oauth-protected-resource/mcp", "ANY /.well-known/oauth-protected-resource/mcp/", "ANY /.well-known/openid-configuration", "ANY /mcp", "ANY /mcp/"])
    error_message = "There is nothing to sign in to here."
  }

  assert {
    condition     = { for name, value in output.applied.functions.oauth.environment : name => value if startswith(name, "SEKISHO_OAUTH_") } == { SEKISHO_OAUTH_ISSUER = "https://login.example.com/tenant", SEKISHO_OAUTH_SCOPE = "mcp", SEKISHO_OAUTH_OWN_METADATA = "true" } && length(local.functions.oauth.statements) == 0
    error_message = "What publishes metadata knows the issuer, and may do nothing."
  }

  assert {
    condition     = { for name, value in output.applied.functions.mcp.environment : name => value if startswith(name, "SEKISHO_OAUTH_") } == { SEKISHO_OAUTH_ISSUER = "https://login.example.com/tenant", SEKISHO_OAUTH_AUDIENCE = "sekisho", SEKISHO_OAUTH_SCOPE = "mcp", SEKISHO_OAUTH_NEW_USER_PLAN = "free" }
    error_message = "mcp knows whose tokens count, and which plan a new user gets."
  }
}

run "oauth_by_proxy" {
  command = plan

  variables {
    oauth = { enabled = true }
  }

  expect_failures = [var.oauth]
}

run "oauth_beside_streams" {
  command = plan

  variables {
    mcp       = { dispatch = "direct", door = "url" }
    functions = { mcp = { reserved_concurrency = 20 } }
    oauth     = { enabled = true }
  }

  expect_failures = [var.oauth]
}

run "oauth_at_the_key_doors_domain" {
  command = plan

  variables {
    mcp   = { dispatch = "direct", door = "http", domain = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" } }
    oauth = { enabled = true, domain = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:123456789012:certificate/1" } }
  }

  expect_failures = [var.oauth]
}

run "oauth_issuer_for_any_audience" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, issuer = "https://login.example.com" }
  }

  expect_failures = [var.oauth]
}

run "oauth_clients_of_another_server" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, issuer = "https://login.example.com", audience = "sekisho", client_hosts = ["chatgpt.com"] }
  }

  expect_failures = [var.oauth]
}

run "oauth_plan_without_an_issuer" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, new_user_plan = "free" }
  }

  expect_failures = [var.oauth]
}

run "oauth_plan_that_is_none" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, issuer = "https://login.example.com", audience = "sekisho", new_user_plan = "golden" }
  }

  expect_failures = [terraform_data.home]
}

run "oauth_redirect_to_plain_http" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, clients = { desk = { name = "Desk", redirect_uris = ["http://desk.example.com/callback"] } } }
  }

  expect_failures = [var.oauth]
}

run "oauth_client_that_calls_itself_a_document" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, clients = { "https://desk.example.com" = { name = "Desk", redirect_uris = ["https://desk.example.com/callback"] } } }
  }

  expect_failures = [var.oauth]
}

run "oauth_hosts_with_a_scheme" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, client_hosts = ["https://chatgpt.com"] }
  }

  expect_failures = [var.oauth]
}

run "oauth_for_minutes_and_years" {
  command = plan

  variables {
    mcp   = { dispatch = "direct" }
    oauth = { enabled = true, access_minutes = 0, grant_days = 4000 }
  }

  expect_failures = [var.oauth]
}

run "traces_to_a_collector" {
  command = plan

  variables {
    observability = { otlp = { endpoint = "http://localhost:4318", ratio = 0.1 } }
  }

  assert {
    condition = alltrue([
      for name, function in output.applied.functions :
      (try(function.environment.OTEL_EXPORTER_OTLP_ENDPOINT, "") == "http://localhost:4318" && try(function.environment.OTEL_TRACES_SAMPLER_ARG, "") == "0.1") == !contains(["authorizer", "page", "settle", "brake"], name)
    ])
    error_message = "The functions that make spans are told of the collector, and the others aren't."
  }
}

run "refuses_a_collector_without_scheme" {
  command = plan

  variables {
    observability = { otlp = { endpoint = "localhost:4318" } }
  }

  expect_failures = [var.observability]
}
