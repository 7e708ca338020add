# Prices and ceilings are chosen so that the figures can be checked by head. One method behind
# each function.

variables {
  prices = {
    usd = {
      apigateway_rest_request = 0.0000035
      lambda_request          = 0.0000002
      lambda_arm64_gb_second  = 0.0000133334
      dynamodb_write_unit     = 0.000000625
      dynamodb_read_unit      = 0.000000125
      logs_ingested_gb        = 0.5
      data_out_gb             = 0.09
    }
    usd_for_one = {
      apigateway_rest_request = "3.5 / 1000000"
      lambda_request          = "0.2 / 1000000"
      lambda_arm64_gb_second  = "0.0000133334"
      dynamodb_write_unit     = "0.625 / 1000000"
      dynamodb_read_unit      = "0.125 / 1000000"
      logs_ingested_gb        = "0.5"
      data_out_gb             = "0.09"
    }
    note = "Prices of us-east-1."
  }

  trip   = { usd_per_hour = 0.14, delay_seconds = 420, how = "seven minutes" }
  api    = { methods = 2, rate_per_second = 10, burst = 20 }
  tables = { usage = {} }

  functions = {
    authorizer = { methods = 1, memory_mb = 256, timeout_seconds = 5 }
    mcp        = { methods = 1, memory_mb = 512, timeout_seconds = 28, reserved_concurrency = 10 }
    calendar   = { methods = 1, memory_mb = 256, timeout_seconds = 28 }
    settle     = { methods = 6, memory_mb = 128, timeout_seconds = 30, reserved_concurrency = 0 }
    brake      = { methods = 0, memory_mb = 128, timeout_seconds = 30 }
  }

  unreserved_concurrency = 100
}

run "bounded" {
  command = plan

  # (10 × 3600 + 20) × 2 methods = 72,040 requests × 3.50 / million = 0.25214
  assert {
    condition     = output.usd_per_hour.parts["gateway"].usd == 0.2522
    error_message = "Each method is throttled for itself. Got ${jsonencode(output.usd_per_hour.parts["gateway"])}"
  }

  # 10 reserved × 3600 s × 0.5 GB × 0.0000133334 = 0.2400012, + 36,020 × 0.20 / million = 0.0072
  assert {
    condition     = output.usd_per_hour.parts["function mcp"].usd == 0.2473 && output.usd_per_hour.parts["function mcp"].bound == "reservation"
    error_message = "A reservation bounds time. Got ${jsonencode(output.usd_per_hour.parts["function mcp"])}"
  }

  # 36,020 starts × 5 s × 0.25 GB × 0.0000133334 = 0.60034, + 0.0072; 100 places would allow twice that
  assert {
    condition     = output.usd_per_hour.parts["function authorizer"].usd == 0.6076 && output.usd_per_hour.parts["function authorizer"].bound == "throttle × timeout"
    error_message = "Throttle and timeout bound what is not reserved. Got ${jsonencode(output.usd_per_hour.parts["function authorizer"])}"
  }

  # 36,020 × 28 s is more than 100 × 3600 s: 360,000 s × 0.25 GB × 0.0000133334 = 1.200006, + 0.0072
  assert {
    condition     = output.usd_per_hour.parts["function calendar"].usd == 1.2073 && output.usd_per_hour.parts["function calendar"].bound == "account"
    error_message = "The account bounds the rest. Got ${jsonencode(output.usd_per_hour.parts["function calendar"])}"
  }

  # Both together have 100 places, not 150.03: the 50.03 that one too many wants are worth 0.60034.
  assert {
    condition     = output.usd_per_hour.parts["functions share the account"].usd == -0.6003
    error_message = "Functions without a reservation share what the account has left. Got ${jsonencode(output.usd_per_hour.parts["functions share the account"])}"
  }

  # Switched off: no time, and its starts are still counted: 216,120 × 0.20 / million = 0.04322
  assert {
    condition     = output.usd_per_hour.parts["function settle"].usd == 0.0433 && output.usd_per_hour.parts["function settle"].bound == "reservation"
    error_message = "A function that is switched off costs only what starts it. Got ${jsonencode(output.usd_per_hour.parts["function settle"])}"
  }

  # 3600 s × 0.125 GB × 0.0000133334 = 0.006
  assert {
    condition     = output.usd_per_hour.parts["function brake"].usd == 0.0061 && output.usd_per_hour.parts["function brake"].bound == "messages"
    error_message = "Messages start it one by one. Got ${jsonencode(output.usd_per_hour.parts["function brake"])}"
  }

  # 72,040 × 8 units × 0.625 / million = 0.3602
  assert {
    condition     = output.usd_per_hour.parts["dynamodb writes"].usd == 0.3602 && output.usd_per_hour.parts["dynamodb writes"].bound == "throttle"
    error_message = "Calls bound the units of a table without a ceiling."
  }

  assert {
    condition     = abs(output.usd_per_hour.usd - sum([for p in values(output.usd_per_hour.parts) : p.usd])) < 0.00001 && output.usd_per_hour.unbounded == null && output.usd_per_hour.prices == "Prices of us-east-1."
    error_message = "The whole is the sum of its parts."
  }

  assert {
    condition     = abs(output.usd_before_brake.usd - output.usd_per_hour.usd * 420 / 3600) < 0.0001 && endswith(output.usd_before_brake.how, ": seven minutes")
    error_message = "Before the brake: seven minutes of the worst hour."
  }
}

run "bounded_by_a_table" {
  command = plan

  variables {
    tables = { usage = { write = 5 }, accounts = { write = 5, read = 5 } }
    trip   = { usd_per_hour = 1000, delay_seconds = 420, how = "" }
  }

  # (5 + 5) × 3600 × 0.625 / million = 0.0225
  assert {
    condition     = output.usd_per_hour.parts["dynamodb writes"].usd == 0.0225 && output.usd_per_hour.parts["dynamodb writes"].bound == "table" && output.usd_per_hour.parts["dynamodb reads"].bound == "throttle"
    error_message = "Ceilings bound units where all tables have one."
  }

  assert {
    condition     = output.usd_before_brake.usd == null && startswith(output.usd_before_brake.how, "never braked: the ceilings keep an hour at ")
    error_message = "An alarm above the worst case never trips, and it is said."
  }
}

run "unbounded" {
  command = plan

  variables {
    api    = { methods = 2, rate_per_second = -1, burst = -1 }
    tables = { usage = { write = 5 } }

    functions = {
      calendar = { methods = 1, memory_mb = 256, timeout_seconds = 28, reserved_concurrency = 5 }
      postal   = { methods = 1, memory_mb = 256, timeout_seconds = 28, reserved_concurrency = 0 }
    }
  }

  assert {
    condition     = output.usd_per_hour.usd == null && strcontains(output.usd_per_hour.unbounded, "unbounded: set api.throttle.rate_per_second and api.throttle.burst")
    error_message = "Without a throttle there is no figure."
  }

  assert {
    condition     = output.usd_per_hour.parts["function calendar"].usd == null && output.usd_per_hour.parts["function postal"].usd == 0
    error_message = "Starts are unbounded without a throttle, except of what is switched off."
  }

  assert {
    condition     = output.usd_per_hour.parts["dynamodb writes"].usd == 0.0113 && output.usd_per_hour.parts["dynamodb reads"].how == "unbounded: set api.throttle.rate_per_second and api.throttle.burst, or tables.max_units_per_second.read"
    error_message = "What has a ceiling keeps its figure; what has none names both that would do."
  }

  assert {
    condition     = output.usd_before_brake.usd == null && startswith(output.usd_before_brake.how, "unbounded: set api.throttle")
    error_message = "Nor is there a figure before the brake."
  }
}
