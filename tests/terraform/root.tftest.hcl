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
  mock_data "aws_default_tags" {
    defaults = { tags = { sekisho-stack = "demo" } }
  }
  mock_data "aws_servicequotas_service_quota" {
    defaults = { value = 1000 }
  }
}

variables {
  name = "demo"
}

run "wiring" {
  command = plan

  variables {
    plans     = { free = 1000, internal = null }
    functions = { mcp = { memory_mb = 1024, reserved_concurrency = 900, environment = { EXTRA = "1" }, traffic = { requests_per_second = 5, seconds = 0.4 } } }
  }

  assert {
    condition     = toset(keys(output.applied.functions)) == setunion(local.names, ["brake"]) && output.applied.functions.mcp.environment == tomap({ EXTRA = "1", GOGC = "off", GOMEMLIMIT = "819MiB", SEKISHO_ACCOUNTS_TABLE = "demo-accounts", SEKISHO_ALLOWED_ORIGINS = "", SEKISHO_KEY_CACHE_SECONDS = "30", SEKISHO_LOG_LEVEL = "info", SEKISHO_TOOL_NAMES = "underscore" })
    error_message = "What is given for a function comes on top of what it needs."
  }

  assert {
    condition     = output.applied.functions.authorizer.environment.SEKISHO_PLANS == "{\"free\":1000,\"internal\":null}"
    error_message = "A plan without a limit must stay null."
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

run "needs_no_upstream" {
  command = plan

  assert {
    condition     = output.applied.functions.external.environment.SEKISHO_UPSTREAM_URL == "" && length(local.functions.external.statements) == 0
    error_message = "Without an upstream the function says so, and may do nothing."
  }
}

run "may_decrypt_with_a_key_of_ones_own" {
  command = plan

  variables {
    upstream = {
      url             = "https://api.example.com"
      token_parameter = "upstream-token"
      token_key_arn   = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
      publish_per_day = 3
    }
  }

  assert {
    condition = output.applied.functions.external.environment.SEKISHO_PUBLISH_PER_DAY == "3" && jsonencode(slice(local.functions.external.statements, 1, 3)) == jsonencode([
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

run "refuses_a_provider_without_the_tag" {
  command = plan

  variables {
    name = "other"
  }

  expect_failures = [output.concurrency]
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name              = ""
    plans             = { free = -1 }
    settings          = { tool_names = "dotted", log_level = "trace", upgrade_url = "http://example.com/\"" }
    functions         = { calender = {}, mcp = { architecture = "arm" } }
    concurrency_quota = 0.5
    upstream          = { url = "http://api.example.com", publish_per_day = -1 }
  }

  expect_failures = [var.name, var.plans, var.settings, var.functions, var.concurrency_quota, var.upstream]
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
    as_written = { functions = { mcp = { memroy_mb = 1 } }, cost = { emails = ["a@example.com"], live = { of = 5 } } }
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
