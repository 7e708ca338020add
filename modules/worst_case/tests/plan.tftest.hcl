# Each run prices one thing only, so that the figure can be checked by head. Four methods of
# 1,000 calls a second, 3,600,000 an hour each; the brake closes two of them.

variables {
  prices = {
    apigateway_rest_request = 0
    lambda_request          = 0
    lambda_arm64_gb_second  = 0
    dynamodb_write_unit     = 0
    dynamodb_read_unit      = 0
    logs_ingested_gb        = 0
    data_out_gb             = 0
  }

  most = {
    log_bytes          = 4000
    answer_bytes       = 50000
    write_units        = 8
    read_units         = 4
    record_bytes       = 600
    refusal_bytes      = 1000
    deliveries         = 3
    account_per_second = 10000
    account_burst      = 0
  }

  trip = { usd_per_hour = 0.14, delay_seconds = 360 }

  methods = {
    "GET /calendar" = { function = "calendar", key = true, closed = true, rate_per_second = 1000, burst = 0 }
    "POST /mcp"     = { function = "mcp", key = false, closed = true, rate_per_second = 1000, burst = 0 }
    "GET /usage"    = { function = "account", key = true, closed = false, rate_per_second = 1000, burst = 0 }
    "GET /health"   = { function = null, key = false, closed = false, rate_per_second = 1000, burst = 0 }
  }

  functions = {
    authorizer = { started_by = "authorizer", memory_mb = 256, timeout_seconds = 5 }
    account    = { started_by = "api", memory_mb = 256, timeout_seconds = 10 }
    calendar   = { started_by = "api", memory_mb = 256, timeout_seconds = 5, reserved_concurrency = 10 }
    mcp        = { started_by = "proxy", memory_mb = 512, timeout_seconds = 28 }
    settle     = { started_by = "log", memory_mb = 128, timeout_seconds = 30, reserved_concurrency = 0 }
    brake      = { started_by = "messages", memory_mb = 128, timeout_seconds = 60 }
  }

  tables                 = { usage = {} }
  unreserved_concurrency = 100
}

run "gateway" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0.0000035, lambda_request = 0, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
  }

  # 14,400,000 requests × 3.5 / million; while braked, half of them
  assert {
    condition     = output.usd_per_hour.usd == 50.4 && output.usd_while_braked.usd == 25.2 && output.usd_per_hour.unbounded == null
    error_message = "Each method is throttled for itself, and the brake closes two. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }

  # 50.4 × 360 / 3600
  assert {
    condition     = output.usd_before_brake.usd == 5.04 && output.usd_before_brake.delay_seconds == 360
    error_message = "Before the brake: six minutes of the worst hour. Got ${jsonencode(output.usd_before_brake)}"
  }
}

run "starts" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, lambda_request = 0.000001, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
  }

  # authorizer 7.2 million, settle three times that, calendar, mcp and account 3.6 each; while
  # braked, authorizer and account 3.6, settle 10.8
  assert {
    condition     = output.usd_per_hour.usd == 39.6 && output.usd_while_braked.usd == 18
    error_message = "Keys start the authorizer, records settle. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

run "functions" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0.001, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
  }

  # calendar has its 10 places: 9; mcp takes all 100 that are left: 180, so that nothing is left for
  # the authorizer and account; settle is switched off; messages start the brake one by one: 0.45.
  # While braked, account takes the 100 places: 90.
  assert {
    condition     = output.usd_per_hour.usd == 189.45 && output.usd_while_braked.usd == 90.45
    error_message = "The most expensive functions take what the account has left. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

run "throttle_and_timeout" {
  command = plan

  variables {
    prices                 = { apigateway_rest_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0.001, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    unreserved_concurrency = 100000
  }

  # mcp 28,000 places of 1.8, authorizer 10,000 and account 10,000 of 0.9, calendar 9, brake 0.45;
  # while braked authorizer 5,000, account 10,000, brake
  assert {
    condition     = output.usd_per_hour.usd == 68409.45 && output.usd_while_braked.usd == 13500.45
    error_message = "With places enough, throttle and timeout bound the time. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

run "bytes" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0.5, data_out_gb = 0.1 }
  }

  # 14.4 million × (4000 × 0.5 + 50000 × 0.1) = 100.8, and the other 21.6 million that the account
  # takes × (600 × 0.5 + 1000 × 0.1) = 8.64; while braked, 50.4 and 28.8 million: 11.52
  assert {
    condition     = output.usd_per_hour.usd == 109.44 && output.usd_while_braked.usd == 61.92
    error_message = "Refused requests leave a record and get an answer. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

run "units" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0.000001, dynamodb_read_unit = 0.0000001, logs_ingested_gb = 0, data_out_gb = 0 }
    tables = { usage = { write = 500 }, accounts = { write = 500, read = 500 } }
    trip   = { usd_per_hour = 1000, delay_seconds = 360 }
  }

  # Both tables grant 3.6 million writes; reads have no ceiling on one of them: 57.6 million, and
  # while braked 28.8
  assert {
    condition     = output.usd_per_hour.usd == 9.36 && output.usd_while_braked.usd == 6.48
    error_message = "Ceilings bound units where all tables have one. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }

  assert {
    condition     = output.usd_before_brake.usd == null && output.usd_before_brake.unbounded == null
    error_message = "An alarm above the worst case never trips."
  }
}

run "unbounded" {
  command = plan

  variables {
    methods = {
      "GET /calendar" = { function = "calendar", key = true, closed = true, rate_per_second = -1, burst = -1 }
    }
  }

  assert {
    condition     = output.usd_per_hour.usd == null && output.usd_before_brake.usd == null && output.usd_while_braked.usd == null
    error_message = "Without a throttle there is no figure."
  }

  assert {
    condition     = output.usd_per_hour.unbounded == "unbounded: set api.throttle.rate_per_second and api.throttle.burst"
    error_message = "It is said what to set."
  }
}

# An HTTP API with two routes of 1,000 calls a second: 7,200,000 requests. By proxy the brake stops
# mcp, and leaves them to be refused.
run "http_api" {
  command = plan

  variables {
    prices  = { apigateway_rest_request = 0.000001, apigateway_http_request = 0.000001, lambda_request = 0.000001, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0.1 }
    methods = {}
    door    = { kind = "http", routes = ["ANY /mcp", "ANY /mcp/"], rate_per_second = 1000, burst = 0 }
    braked  = ["mcp", "calendar"]
  }

  # 7.2 for requests, 7.2 for starts of mcp, 36 for answers of 50,000 bytes, and 28,800,000 refused
  # ones of the account × 1000 bytes: 2.88; while braked 7.2 for requests, 0.72 + 2.88 for refusals
  assert {
    condition     = output.usd_per_hour.usd == 53.28 && output.usd_while_braked.usd == 10.8
    error_message = "Routes are throttled for themselves, and billed with the brake on too. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

# Direct dispatch: the brake leaves mcp alone, which can start account and not calendar.
run "function_url" {
  command = plan

  variables {
    prices   = { apigateway_rest_request = 1, lambda_request = 0.000001, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    methods  = {}
    door     = { kind = "url" }
    dispatch = "direct"
    braked   = ["calendar"]

    functions = {
      account  = { started_by = "api", memory_mb = 256, timeout_seconds = 10 }
      calendar = { started_by = "api", memory_mb = 256, timeout_seconds = 5 }
      mcp      = { started_by = "proxy", memory_mb = 512, timeout_seconds = 28, reserved_concurrency = 10 }
      settle   = { started_by = "log", memory_mb = 128, timeout_seconds = 30 }
    }
  }

  # 100 a second: 360,000 of mcp, of account and of calendar, and three times that of settle
  assert {
    condition     = output.usd_per_hour.usd == 2.16 && output.usd_while_braked.usd == 1.8
    error_message = "Ten requests a second for each place; one invocation for each. Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

# What mcp invokes runs no more often at a time than mcp does: 10 places of mcp, of 0.5 GB, and 10 of
# the 0.25 GB behind it, for each of the two functions.
run "direct_time" {
  command = plan

  variables {
    prices                 = { apigateway_rest_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0.001, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    methods                = {}
    door                   = { kind = "url" }
    dispatch               = "direct"
    unreserved_concurrency = 100000

    functions = {
      account  = { started_by = "api", memory_mb = 256, timeout_seconds = 10 }
      calendar = { started_by = "api", memory_mb = 256, timeout_seconds = 5 }
      mcp      = { started_by = "proxy", memory_mb = 512, timeout_seconds = 28, reserved_concurrency = 10 }
    }
  }

  # (10 × 0.5 + 2 × 10 × 0.25) GB × 3600 s × 0.001
  assert {
    condition     = output.usd_per_hour.usd == 36
    error_message = "Got ${jsonencode(output.usd_per_hour)}"
  }
}

run "unbounded_door" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, apigateway_http_request = 0, lambda_request = 0, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    door   = { kind = "http", routes = ["ANY /mcp"] }
  }

  assert {
    condition     = output.usd_per_hour.usd == null && output.usd_per_hour.unbounded != null
    error_message = "A door without a throttle has no figure either."
  }
}

run "refuses_wrong_values" {
  command = plan

  variables {
    door     = { kind = "gate" }
    dispatch = "magic"
  }

  expect_failures = [var.door, var.dispatch]
}

# The OAuth door leads to mcp, as another door does, and to a function that the brake stops.
run "oauth_door" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, apigateway_http_request = 0.000001, lambda_request = 0.000001, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    methods = {
      "GET /calendar" = { function = "calendar", key = true, closed = true, rate_per_second = 1000, burst = 0 }
    }
    functions = {
      authorizer = { started_by = "authorizer", memory_mb = 256, timeout_seconds = 5 }
      calendar   = { started_by = "api", memory_mb = 256, timeout_seconds = 5 }
      mcp        = { started_by = "proxy", memory_mb = 512, timeout_seconds = 28 }
      oauth      = { started_by = "oauth", memory_mb = 256, timeout_seconds = 10 }
      settle     = { started_by = "log", memory_mb = 128, timeout_seconds = 30 }
    }
    door = {
      kind = "rest"
      oauth_routes = {
        "ANY /mcp"   = { function = "mcp", rate_per_second = 1000, burst = 0 }
        "ANY /token" = { function = "oauth", rate_per_second = 100, burst = 0 }
      }
    }
    dispatch = "direct"
    braked   = ["calendar", "oauth"]
  }

  # 3.96 million requests; calendar 7.2 million starts (by its method and by mcp), the authorizer 3.6, mcp
  # 3.6, oauth 0.36, settle 21.6. While braked 3.96 requests, mcp 3.6, settle 10.8.
  assert {
    condition     = output.usd_per_hour.usd == 40.32 && output.usd_while_braked.usd == 18.36
    error_message = "Got ${jsonencode([output.usd_per_hour, output.usd_while_braked])}"
  }
}

run "unbounded_oauth_route" {
  command = plan

  variables {
    prices = { apigateway_rest_request = 0, apigateway_http_request = 0.000001, lambda_request = 0, lambda_arm64_gb_second = 0, dynamodb_write_unit = 0, dynamodb_read_unit = 0, logs_ingested_gb = 0, data_out_gb = 0 }
    door   = { kind = "rest", oauth_routes = { "ANY /mcp" = { function = "mcp", rate_per_second = -1, burst = -1 } } }
  }

  assert {
    condition     = output.usd_per_hour.usd == null && output.usd_per_hour.unbounded != null
    error_message = "A route without a throttle has no ceiling."
  }
}
