# The most that an hour can cost, from the ceilings alone: what is spent if every ceiling is
# reached at once and stays reached. Each part carries its arithmetic. Where a ceiling is
# missing there is no figure, but the name of what to set.
#
# Not in it, as no call causes it: the storage of tables and logs, and what the stack costs
# idle (see README).

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

  # API Gateway throttles each method of a stage for itself, so a stage lets through as many
  # times the rate as it has methods.
  throttled = var.stack.api.rate_per_second >= 0 && var.stack.api.burst >= 0
  per_method = (
    local.throttled
    ? "(${var.stack.api.rate_per_second} per second × 3600 s + ${var.stack.api.burst} at once)"
    : "unlimited"
  )
  method_calls = local.throttled ? var.stack.api.rate_per_second * 3600 + var.stack.api.burst : 0
  calls        = var.stack.api.methods * local.method_calls
  calls_how    = "${var.stack.api.methods} methods × ${local.per_method} = ${local.calls} requests"
  no_throttle  = "unbounded: set api.throttle.rate_per_second and api.throttle.burst"

  # Starts of each function, and how long they can run: until the timeout, or as many at
  # a time as are reserved or else left in the account. A function that messages start has
  # no calls; it is taken to run all the time.
  loads = {
    for role, f in var.stack.functions : role => {
      starts  = f.methods * local.method_calls
      by_call = local.throttled && f.started_by != "message" ? f.methods * local.method_calls * f.timeout_seconds : null
      by_places = 3600 * (
        f.reserved_concurrency >= 0 ? f.reserved_concurrency
        : f.started_by == "message" ? 1
        : var.stack.unreserved_concurrency
      )
      gb    = f.memory_mb / 1024
      price = local.price[local.compute[f.architecture]]
      places = (
        f.reserved_concurrency >= 0 ? "${f.reserved_concurrency} reserved"
        : f.started_by == "message" ? "1, as messages come one by one"
        : "${var.stack.unreserved_concurrency} unreserved in the account"
      )
    }
  }

  worst_functions = {
    for role, load in local.loads : role => {
      bound   = load.by_call != null && try(load.by_call <= load.by_places, false) ? "throttle × timeout" : var.stack.functions[role].reserved_concurrency >= 0 ? "reservation" : var.stack.functions[role].started_by == "message" ? "messages" : "account"
      seconds = min(coalesce(load.by_call, load.by_places), load.by_places)
      exact   = min(coalesce(load.by_call, load.by_places), load.by_places) * load.gb * load.price + load.starts * local.price.lambda_request
      how = join("", [
        load.by_call != null && try(load.by_call <= load.by_places, false)
        ? "${load.starts} starts × ${var.stack.functions[role].timeout_seconds} s"
        : "${load.places} × 3600 s",
        " × ${load.gb} GB × ${local.per_gb_second[role]}",
        load.starts == 0 ? "" : " + ${load.starts} starts × ${local.priced.lambda_request}",
      ])
      unbounded = local.throttled || var.stack.functions[role].started_by == "message" || var.stack.functions[role].reserved_concurrency == 0 ? null : local.no_throttle
    }
  }

  # Functions without a reservation share what the account has left, so not all of them can
  # hang at once: the dearest take the places. That most is the least, over a price of a place
  # (one of the functions' own, or none), of all places at that price and what each function is
  # worth beyond it (linear programming, by its dual).
  sharing = {
    for role, load in local.loads : role => {
      places = min(coalesce(load.by_call, load.by_places), load.by_places) / 3600
      usd    = 3600 * load.gb * load.price
    } if var.stack.functions[role].reserved_concurrency < 0 && var.stack.functions[role].started_by != "message"
  }
  wanted     = sum(concat([0], [for f in values(local.sharing) : f.places]))
  wanted_usd = sum(concat([0], [for f in values(local.sharing) : f.places * f.usd]))
  shared_usd = min([
    for price in concat([0], values(local.sharing)[*].usd) :
    price * var.stack.unreserved_concurrency + sum(concat([0], [for f in values(local.sharing) : f.places * max(0, f.usd - price)]))
  ]...)

  # Of the units that the calls can want and those that the tables grant, the fewer.
  units = {
    for kind, most in { write = local.most.write_units, read = local.most.read_units } : kind => {
      by_call                 = local.throttled ? local.calls * most : null
      by_table                = alltrue([for t in values(var.stack.tables) : t.max_units_per_second[kind] != null]) ? sum([for t in values(var.stack.tables) : coalesce(t.max_units_per_second[kind], 0)]) * 3600 : null
      call_how                = "${local.calls} requests × ${most} units"
      table_how = join(" + ", [
        for t in values(var.stack.tables) : coalesce(t.max_units_per_second[kind], 0)
      ])
      price  = local.price["dynamodb_${kind}_unit"]
      priced = local.priced["dynamodb_${kind}_unit"]
    }
  }

  worst_units = {
    for kind, u in local.units : kind => {
      bound     = u.by_table != null && try(u.by_table < coalesce(u.by_call, u.by_table + 1), false) ? "table" : "throttle"
      exact     = min(coalesce(u.by_call, u.by_table, 0), coalesce(u.by_table, u.by_call, 0)) * u.price
      how       = u.by_table != null && try(u.by_table < coalesce(u.by_call, u.by_table + 1), false) ? "(${u.table_how}) units per second × 3600 s × ${u.priced}" : "${u.call_how} × ${u.priced}"
      unbounded = u.by_table == null && u.by_call == null ? "${local.no_throttle}, or tables.max_units_per_second.${kind}" : null
    }
  }

  worst_parts = merge(
    {
      gateway = {
        bound     = "throttle"
        exact     = local.calls * local.price.apigateway_rest_request
        how       = "${local.calls_how} × ${local.priced.apigateway_rest_request}"
        unbounded = local.throttled ? null : local.no_throttle
      }
      logs = {
        bound     = "throttle"
        exact     = local.calls * local.most.log_bytes / 1000000000 * local.price.logs_ingested_gb
        how       = "${local.calls} requests × ${local.most.log_bytes} bytes / 1000000000 × ${local.priced.logs_ingested_gb}"
        unbounded = local.throttled ? null : local.no_throttle
      }
      data_out = {
        bound     = "throttle"
        exact     = local.calls * local.most.answer_bytes / 1000000000 * local.price.data_out_gb
        how       = "${local.calls} requests × ${local.most.answer_bytes} bytes / 1000000000 × ${local.priced.data_out_gb}"
        unbounded = local.throttled ? null : local.no_throttle
      }
    },
    {
      "functions share the account" = {
        bound     = "account"
        exact     = local.shared_usd - local.wanted_usd
        how       = "${format("%.2f", local.wanted)} places wanted, ${var.stack.unreserved_concurrency} left in the account, which the dearest take: ${format("%.4f", local.shared_usd)} − ${format("%.4f", local.wanted_usd)}"
        unbounded = null
      }
    },
    { for role, part in local.worst_functions : "function ${role}" => { bound = part.bound, exact = part.exact, how = part.how, unbounded = part.unbounded } },
    { for kind, part in local.worst_units : "dynamodb ${kind}s" => part },
  )

  # Rounded up to the hundredth of a cent: it is a bound.
  worst_case = {
    for name, part in local.worst_parts : name => {
      usd       = part.unbounded == null ? ceil(part.exact * 10000 - 0.000001) / 10000 : null
      unbounded = part.unbounded
      bound     = part.bound
      how       = part.unbounded == null ? part.how : part.unbounded
    }
  }

  missing   = distinct([for part in values(local.worst_case) : part.unbounded if part.unbounded != null])
  worst_usd = length(local.missing) == 0 ? sum([for part in values(local.worst_case) : part.usd]) : null

  # The alarm can't trip on what the ceilings don't let happen.
  trips = local.worst_usd == null ? true : local.worst_usd > local.live_usd_per_hour
}
