# The stack that people rely on. What is left out takes the default in ../../variables.tf.

region = "us-east-1"

# Everything is called after this. Two stacks in one account need two names.
name = "sekisho-prod"

# Who may call how often: requests per calendar month (UTC) and key. null is no limit.
plans = {
  free    = 1000
  starter = 10000
  pro     = 100000
}

# Ceiling over all keys together, for each method of the API: calls per second on average,
# and how many at once.
# For a domain of your own, add:
#   domain = { name = "mcp.example.com", certificate_arn = "arn:aws:acm:us-east-1:…:certificate/…" }
api = {
  throttle = { rate_per_second = 50, burst = 100 }
}

# The tables can't be destroyed by accident, and can be put back to any second of the last
# 35 days. The ceilings keep a runaway from writing without end; above them calls are
# refused with 503.
tables = {
  deletion_protection    = true
  point_in_time_recovery = true
  max_units_per_second   = { read = 500, write = 500 }
}

observability = {
  log_retention_days = 90
}

# Who hears about money, and when. Each address gets a mail to confirm first. monitor_arn
# is what `terraform output` in ../account shows. The live alarm trips at what would use up the
# month in a weekend, here 1.39 USD an hour; if you expect busier hours than that, say so:
#   live = { usd_per_hour = 3 }
cost = {
  emails         = ["finance@example.com"]
  monthly_usd    = 100
  actual_percent = [50, 80, 100, 120, 150, 200]
  # monitor_arn  = "arn:aws:ce::123456789012:anomalymonitor/…"
}

# What the tools external.* call; envs/dev explains it, and how the token gets where it belongs.
# upstream = {
#   url             = "https://api.example.com/v1"
#   token_parameter = "/sekisho-prod/upstream-token"
# }

# How many of each may run at once. `terraform output sizing` suggests a figure from the
# traffic that you expect. The account's quota must leave 100 beside the sum; a plan that
# does not is refused, and says what to do. What has no reservation can take all that the
# account has left, and the worst case counts it so; settle catches up later if it must wait.
functions = {
  authorizer = { reserved_concurrency = 50, traffic = { requests_per_second = 50, seconds = 0.02 } }
  account    = { reserved_concurrency = 10 }
  settle     = { reserved_concurrency = 5 }
  external   = { reserved_concurrency = 10 }
  mcp        = { reserved_concurrency = 50, traffic = { requests_per_second = 25, seconds = 0.2 } }
  calendar   = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
  postal     = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
  convert    = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
}
