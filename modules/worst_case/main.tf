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
  rest = { for state, names in local.states : state => sum(concat([0], [for name in names : local.calls[name]])) }

  # A method that asks for a key starts the authorizer, whose records start settle, as do the lines of
  # an mcp that dispatches calls itself. Such an mcp can start any function that the brake leaves alone.
  keyed = { for state, names in local.states : state => sum(concat([0], [for name in names : local.calls[name] if var.methods[name].key])) }
  behind = {
    for state, names in local.states : state => {
      for role in keys(var.functions) : role => sum(concat([0], [for name in names : local.calls[name] if var.methods[name].function == role]))
    }
  }
  starts = {
    for state, behind in local.behind : state => {
      for role, f in var.functions : role => (
        f.started_by == "authorizer" ? local.keyed[state]
        : f.started_by == "log" ? (local.keyed[state] + local.dispatched[state]) * var.most.deliveries
        : f.started_by == "proxy" ? local.mcp_starts[state]
        : f.started_by == "oauth" ? local.oauth_served[state][role]
        : behind[role] + local.dispatched_to[state][role]
      )
    }
  }
}

# The door, where it is not the REST API: an HTTP API throttles each route, and a function URL takes ten
# requests a second for each place that its function has
# (https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html). A call that mcp doesn't serve,
# since the brake has stopped it, is billed like any other and gets a refusal.
locals {
  mcp        = try(one([for role, f in var.functions : role if f.started_by == "proxy"]), null)
  mcp_places = local.mcp == null ? 0 : var.functions[local.mcp].reserved_concurrency >= 0 ? var.functions[local.mcp].reserved_concurrency : var.unreserved_concurrency
  at_door = (
    var.door.kind == "http" ? length(var.door.routes) * (var.door.rate_per_second * 3600 + var.door.burst)
    : var.door.kind == "url" ? 10 * local.mcp_places * 3600
    : 0
  )
  served     = { for state in keys(local.states) : state => state == "braked" && contains(var.braked, coalesce(local.mcp, "-")) ? 0 : local.at_door }
  mcp_starts = { for state, served in local.served : state => served + (local.mcp == null ? 0 : local.behind[state][local.mcp] + local.oauth_served[state][local.mcp]) }

  # The OAuth door is an HTTP API beside it, whose routes lead to several functions.
  at_oauth = sum(concat([0], [for route in values(var.door.oauth_routes) : route.rate_per_second * 3600 + route.burst]))
  oauth_served = {
    for state in keys(local.states) : state => {
      for role in keys(var.functions) : role => state == "braked" && contains(var.braked, role) ? 0 : sum(concat([0], [
        for route in values(var.door.oauth_routes) : route.rate_per_second * 3600 + route.burst if route.function == role
      ]))
    }
  }
  oauth_let_in = { for state, served in local.oauth_served : state => sum(concat([0], values(served))) }

  # What mcp invokes by itself: of all functions together as many as it starts, and so of one at most.
  # No more of them run at a time than mcp does.
  dispatched = { for state, starts in local.mcp_starts : state => var.dispatch == "direct" ? starts : 0 }
  dispatched_to = {
    for state, dispatched in local.dispatched : state => {
      for role, f in var.functions : role => f.started_by != "api" || state == "braked" && contains(var.braked, role) ? 0 : dispatched
    }
  }
  mcp_seconds = { for state, starts in local.mcp_starts : state => local.mcp == null ? 0 : min(local.mcp_places * 3600, starts * var.functions[local.mcp].timeout_seconds) }
  requests    = { for state, calls in local.rest : state => calls + local.served[state] + local.oauth_let_in[state] }
  http        = (var.door.kind == "http" ? local.at_door : 0) + local.at_oauth
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
      for role, f in var.functions : role => (
        f.started_by == "messages" ? 1
        : ((starts[role] - local.dispatched_to[state][role]) * f.timeout_seconds + min(local.dispatched_to[state][role] * f.timeout_seconds, local.mcp_seconds[state])) / 3600
      )
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
  refused = { for state, rest in local.rest : state => max(0, var.most.account_per_second * 3600 + var.most.account_burst - rest - local.http) }

  usd = {
    for state, requests in local.requests : state => sum(concat(
      [
        local.rest[state] * var.prices.apigateway_rest_request,
        local.http == 0 ? 0 : local.http * var.prices.apigateway_http_request,
        (local.at_door - local.served[state] + local.at_oauth - local.oauth_let_in[state]) * var.most.refusal_bytes / 1000000000 * var.prices.data_out_gb,
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
  throttled = concat(values(var.methods), var.door.kind == "http" ? [var.door] : [], values(var.door.oauth_routes))
  bounded   = alltrue([for t in local.throttled : t.rate_per_second >= 0 && t.burst >= 0])
  unbounded = local.bounded ? null : "unbounded: set api.throttle.rate_per_second and api.throttle.burst"
  # The alarm can't trip on what the ceilings don't let happen.
  trips = local.usd.open > var.trip.usd_per_hour
}
