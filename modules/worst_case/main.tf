# The most that an hour can cost, from the ceilings alone: what is spent if every ceiling is
# reached at once and stays reached. Each part carries its arithmetic. Where a ceiling is
# missing, the name of what to set takes the place of a figure.
#
# Storage of tables and logs, and what the stack costs idle (see the README), are not in it: no
# call causes them.

locals {
  # The most that one request can come to. The reasons:
  #   log_bytes      an access record (fixed fields, 600 bytes measured) and four lines of
  #                  functions (260 measured; bodies are never logged), with room: 1 KB for the
  #                  record, and 1 KB for each of three functions
  #   answer_bytes   the widest answer of the contract is a page of 100 postal codes: 48,154
  #                  bytes over MCP
  #   write_units    1 to admit; 4 for a refund, a transaction on two items that is billed
  #                  twice over; and room for writes repeated because others were faster. Only
  #                  PUT tool-settings can write more, up to 32, and it is one method of many.
  #   read_units     the key's item, read by two functions, of up to 16 KB (its settings)
  most = { log_bytes = 4096, answer_bytes = 65536, write_units = 8, read_units = 8 }

  # API Gateway throttles each method of a stage separately, so a stage with n methods lets
  # through n times the rate.
  throttled    = var.api.rate_per_second >= 0 && var.api.burst >= 0
  method_calls = local.throttled ? var.api.rate_per_second * 3600 + var.api.burst : 0
  calls        = var.api.methods * local.method_calls
  calls_how    = "${var.api.methods} methods × (${var.api.rate_per_second} per second × 3600 s + ${var.api.burst} at once) = ${local.calls} requests"
  no_throttle  = "unbounded: set api.throttle.rate_per_second and api.throttle.burst"
}

# What grows with requests, and nothing else.
locals {
  per_request = {
    gateway = {
      exact = local.calls * var.prices.usd.apigateway_rest_request
      how   = "${local.calls_how} × ${var.prices.usd_for_one.apigateway_rest_request}"
    }
    logs = {
      exact = local.calls * local.most.log_bytes / 1000000000 * var.prices.usd.logs_ingested_gb
      how   = "${local.calls} requests × ${local.most.log_bytes} bytes / 1000000000 × ${var.prices.usd_for_one.logs_ingested_gb}"
    }
    data_out = {
      exact = local.calls * local.most.answer_bytes / 1000000000 * var.prices.usd.data_out_gb
      how   = "${local.calls} requests × ${local.most.answer_bytes} bytes / 1000000000 × ${var.prices.usd_for_one.data_out_gb}"
    }
  }

  request_parts = {
    for name, part in local.per_request :
    name => merge(part, { bound = "throttle", unbounded = local.throttled ? null : local.no_throttle })
  }
}

# Functions: how often each can start, and how long all its executions together can run.
locals {
  starts = { for role, f in var.functions : role => f.methods * local.method_calls }

  # The longest that the started ones can run: each until its timeout.
  seconds_started = { for role, f in var.functions : role => local.starts[role] * f.timeout_seconds }

  # Messages come one by one, so the function that they start is taken to run all the time.
  by_message = { for role, f in var.functions : role => f.methods == 0 }
  reserved   = { for role, f in var.functions : role => f.reserved_concurrency >= 0 }

  places = {
    for role, f in var.functions : role =>
    local.reserved[role] ? f.reserved_concurrency : local.by_message[role] ? 1 : var.unreserved_concurrency
  }
  places_how = {
    for role in keys(var.functions) : role => (
      local.reserved[role] ? "${local.places[role]} reserved"
      : local.by_message[role] ? "1, as messages come one by one"
      : "${local.places[role]} unreserved in the account"
    )
  }

  # Either the throttle bounds the time, or the places to run in do.
  bounded_by_throttle = {
    for role in keys(var.functions) : role =>
    local.throttled && !local.by_message[role] && local.seconds_started[role] <= local.places[role] * 3600
  }
  bounded_by = {
    for role in keys(var.functions) : role => (
      local.bounded_by_throttle[role] ? "throttle × timeout"
      : local.reserved[role] ? "reservation"
      : local.by_message[role] ? "messages"
      : "account"
    )
  }
  seconds = {
    for role in keys(var.functions) : role =>
    local.bounded_by_throttle[role] ? local.seconds_started[role] : local.places[role] * 3600
  }
  seconds_how = {
    for role, f in var.functions : role =>
    local.bounded_by_throttle[role] ? "${local.starts[role]} starts × ${f.timeout_seconds} s" : "${local.places_how[role]} × 3600 s"
  }

  gb            = { for role, f in var.functions : role => f.memory_mb / 1024 }
  gb_second     = { for role, f in var.functions : role => "lambda_${f.architecture}_gb_second" }
  usd_of_second = { for role in keys(var.functions) : role => local.gb[role] * var.prices.usd[local.gb_second[role]] }

  # Even a bounded time has unbounded starts without a throttle, unless nothing can start.
  starts_bounded = {
    for role, f in var.functions : role =>
    local.throttled || local.by_message[role] || f.reserved_concurrency == 0
  }

  function_parts = {
    for role in keys(var.functions) : "function ${role}" => {
      bound = local.bounded_by[role]
      exact = local.seconds[role] * local.usd_of_second[role] + local.starts[role] * var.prices.usd.lambda_request
      how = join("", [
        local.seconds_how[role],
        " × ${local.gb[role]} GB × ${var.prices.usd_for_one[local.gb_second[role]]}",
        local.starts[role] == 0 ? "" : " + ${local.starts[role]} starts × ${var.prices.usd_for_one.lambda_request}",
      ])
      unbounded = local.starts_bounded[role] ? null : local.no_throttle
    }
  }
}

# Unreserved functions share what the account has left; the most expensive ones fill it first.
# HCL can't sort objects by a number, so the greedy sum is written as its LP dual: the minimum
# over candidate prices p of p × places + Σ wanted × max(0, cost − p). Candidates are 0 and what
# a place of each function costs.
locals {
  sharing = {
    for role in keys(var.functions) : role => {
      places = local.seconds[role] / 3600
      usd    = local.usd_of_second[role] * 3600
    } if !local.reserved[role] && !local.by_message[role]
  }
  wanted     = sum(concat([0], values(local.sharing)[*].places))
  wanted_usd = sum(concat([0], [for f in values(local.sharing) : f.places * f.usd]))
  shared_usd = min([
    for price in concat([0], values(local.sharing)[*].usd) :
    price * var.unreserved_concurrency + sum(concat([0], [for f in values(local.sharing) : f.places * max(0, f.usd - price)]))
  ]...)

  sharing_part = {
    "functions share the account" = {
      bound     = "account"
      exact     = local.shared_usd - local.wanted_usd
      how       = "${format("%.2f", local.wanted)} places wanted, ${var.unreserved_concurrency} left in the account, which the most expensive take: ${format("%.4f", local.shared_usd)} − ${format("%.4f", local.wanted_usd)}"
      unbounded = null
    }
  }
}

# Tables: what the calls can want, or what the tables grant if that is less.
locals {
  most_units    = { write = local.most.write_units, read = local.most.read_units }
  units_by_call = { for kind, most in local.most_units : kind => local.calls * most }

  # One table without a ceiling leaves all of them without one.
  ceilings        = { for kind in keys(local.most_units) : kind => [for t in values(var.tables) : t[kind]] }
  has_ceiling     = { for kind, units in local.ceilings : kind => alltrue([for n in units : n != null]) }
  units_by_table  = { for kind, units in local.ceilings : kind => local.has_ceiling[kind] ? sum(units) * 3600 : 0 }
  per_second_how  = { for kind, units in local.ceilings : kind => local.has_ceiling[kind] ? join(" + ", units) : "" }
  dynamodb_prices = { for kind in keys(local.most_units) : kind => "dynamodb_${kind}_unit" }

  bounded_by_table = {
    for kind, has_ceiling in local.has_ceiling : kind =>
    has_ceiling && (!local.throttled || local.units_by_table[kind] < local.units_by_call[kind])
  }

  table_parts = {
    for kind, most in local.most_units : "dynamodb ${kind}s" => {
      bound = local.bounded_by_table[kind] ? "table" : "throttle"
      exact = (local.bounded_by_table[kind] ? local.units_by_table[kind] : local.units_by_call[kind]) * var.prices.usd[local.dynamodb_prices[kind]]
      how = join(" × ", [
        local.bounded_by_table[kind] ? "(${local.per_second_how[kind]}) units per second × 3600 s" : "${local.calls} requests × ${most} units",
        var.prices.usd_for_one[local.dynamodb_prices[kind]],
      ])
      unbounded = local.throttled || local.has_ceiling[kind] ? null : "${local.no_throttle}, or tables.max_units_per_second.${kind}"
    }
  }
}

locals {
  # Rounded up to the hundredth of a cent: it is a bound. What is whole except for an error in
  # its last digits is not rounded up.
  parts = {
    for name, part in merge(local.request_parts, local.sharing_part, local.function_parts, local.table_parts) : name => {
      usd       = part.unbounded == null ? ceil(part.exact * 10000 - 0.000001) / 10000 : null
      unbounded = part.unbounded
      bound     = part.bound
      how       = part.unbounded == null ? part.how : part.unbounded
    }
  }

  missing   = distinct([for part in values(local.parts) : part.unbounded if part.unbounded != null])
  bounded   = length(local.missing) == 0
  unbounded = local.bounded ? null : join("; ", local.missing)
  usd       = local.bounded ? sum([for part in values(local.parts) : part.usd]) : null

  # The alarm can't trip on what the ceilings don't let happen.
  trips = local.bounded ? local.usd > var.trip.usd_per_hour : true
}
