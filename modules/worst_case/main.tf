# The most that an hour can cost, from the ceilings alone: what is spent if every ceiling is
# reached at once and stays reached; and the same while the brake is on, when only the methods
# that it leaves open let anything through. `sekisho worst-case` computes the same in Go and prints
# the arithmetic; a test holds both equal.
#
# Storage of tables and logs, and what the stack costs idle (see the README), are not in it: no
# call causes them.

locals {
  calls = { for name, m in var.methods : name => m.rate_per_second * 3600 + m.burst }

  # Which methods let calls through.
  states = {
    open   = keys(var.methods)
    braked = [for name, m in var.methods : name if !m.closed]
  }
  requests = { for state, names in local.states : state => sum(concat([0], [for name in names : local.calls[name]])) }

  # A method that asks for a key starts the authorizer, whose records start settle.
  keyed = { for state, names in local.states : state => sum(concat([0], [for name in names : local.calls[name] if var.methods[name].key])) }
  starts = {
    for state, names in local.states : state => {
      for role, f in var.functions : role => (
        f.started_by == "authorizer" ? local.keyed[state]
        : f.started_by == "log" ? local.keyed[state] * var.most.deliveries
        : sum(concat([0], [for name in names : local.calls[name] if var.methods[name].function == role]))
      )
    }
  }
}

# Each function runs until its timeout, in the places that it has: reserved ones, or what the
# account has left, which the most expensive take first. Messages come one by one, so the function
# that they start is taken to run all the time.
locals {
  usd_of_second = { for role, f in var.functions : role => f.memory_mb / 1024 * var.prices["lambda_${f.architecture}_gb_second"] }
  shares        = [for role, f in var.functions : role if f.reserved_concurrency < 0 && f.started_by != "messages"]

  # HCL can't sort by a number, so the most expensive second is written as the smallest text.
  by_expense = [for text in sort([for role in local.shares : format("%.12f %s", 1 - local.usd_of_second[role], role)]) : split(" ", text)[1]]

  wanted = {
    for state, starts in local.starts : state => {
      for role, f in var.functions : role => f.started_by == "messages" ? 1 : starts[role] * f.timeout_seconds / 3600
    }
  }
  taken_before = {
    for state, wanted in local.wanted : state => {
      for i, role in local.by_expense : role => sum(concat([0], [for other in slice(local.by_expense, 0, i) : wanted[other]]))
    }
  }
  places = {
    for state, wanted in local.wanted : state => {
      for role, f in var.functions : role => (
        f.started_by == "messages" ? 1
        : f.reserved_concurrency >= 0 ? min(f.reserved_concurrency, wanted[role])
        : max(0, min(wanted[role], var.unreserved_concurrency - local.taken_before[state][role]))
      )
    }
  }
}

locals {
  # What the calls can want of the tables, or what the tables grant if that is less. One table
  # without a ceiling leaves all of them without one.
  granted = {
    for kind in ["read", "write"] : kind =>
    anytrue([for t in values(var.tables) : t[kind] == null]) ? null : sum(concat([0], [for t in values(var.tables) : t[kind] * 3600]))
  }
  units = {
    for state, requests in local.requests : state => {
      for kind, granted in local.granted : kind => min(requests * var.most["${kind}_units"], coalesce(granted, requests * var.most["${kind}_units"]))
    }
  }

  # Requests that match no route, and those that a throttle turns away, are not billed; they leave
  # a record and get an answer, up to the account's own limit.
  refused = { for state, requests in local.requests : state => max(0, var.most.account_per_second * 3600 + var.most.account_burst - requests) }

  usd = {
    for state, requests in local.requests : state => sum(concat(
      [
        requests * var.prices.apigateway_rest_request,
        requests * var.most.log_bytes / 1000000000 * var.prices.logs_ingested_gb,
        requests * var.most.answer_bytes / 1000000000 * var.prices.data_out_gb,
        local.refused[state] * var.most.record_bytes / 1000000000 * var.prices.logs_ingested_gb,
        local.refused[state] * var.most.refusal_bytes / 1000000000 * var.prices.data_out_gb,
        local.units[state].write * var.prices.dynamodb_write_unit,
        local.units[state].read * var.prices.dynamodb_read_unit,
      ],
      [for role in keys(var.functions) : local.places[state][role] * 3600 * local.usd_of_second[role] + local.starts[state][role] * var.prices.lambda_request],
    ))
  }

  # It is a bound, so it is rounded up to the cent.
  bounded   = alltrue([for m in values(var.methods) : m.rate_per_second >= 0 && m.burst >= 0])
  unbounded = local.bounded ? null : "unbounded: set api.throttle.rate_per_second and api.throttle.burst"
  # The alarm can't trip on what the ceilings don't let happen.
  trips = local.usd.open > var.trip.usd_per_hour
}
