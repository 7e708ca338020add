# The stack that people rely on. What is left out takes the default in ../../variables.tf.
#
# Values of your own can go into local.auto.tfvars beside this file: Terraform loads it after this
# one, and git ignores it.

region = "us-east-1"

# Everything is called after this. Two stacks in one account need two names.
name = "sekisho-prod"

# What each plan allows a key; envs/dev explains the parts.
plans = {
  free    = { monthly = 1000, daily = 200, per_second = 2, burst = 10 }
  starter = { monthly = 10000, daily = 2000, per_second = 5, burst = 20 }
  pro     = { monthly = 100000, daily = 20000, per_second = 20, burst = 50 }
}

# Who hears when a key has used up part of its month. modules/alerts says what a URL and a queue
# need.
alerts = {
  usage_percent = [80, 100]
  subscriptions = [
    { protocol = "email", endpoint = "support@example.com" },
    # { protocol = "https", endpoint = "https://hooks.example.com/usage" },
    # { protocol = "sqs", endpoint = "arn:aws:sqs:us-east-1:123456789012:usage" },
  ]
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

# emails here are of those who mend functions; those of cost hear about money.
observability = {
  emails             = ["oncall@example.com"]
  log_retention_days = 90
}

# Who hears about money, and when. Each address gets a mail to confirm first. monitor_arn is the
# account's anomaly monitor of services (`aws ce get-anomaly-monitors`). In an organization the
# tag sekisho-stack, which the budget counts by, is activated in the management account. The live alarm trips at what would use up the
# month in a weekend, here 1.39 USD an hour; if you expect busier hours than that, say so:
#   live = { usd_per_hour = 3 }
cost = {
  emails         = ["finance@example.com"]
  monthly_usd    = 100
  actual_percent = [50, 80, 100, 120, 150, 200]
  # monitor_arn  = "arn:aws:ce::123456789012:anomalymonitor/…"
}

# The services behind the contract; envs/dev explains them.
# backends = {
#   orders = { url = "https://api.example.com/v2", auth = { type = "bearer", parameter = "/sekisho-prod/orders-token" } }
# }

# How many of each may run at once. `terraform output sizing` suggests a figure from the
# traffic that you expect. The account's quota must leave 100 beside the sum; a plan that
# does not is refused, and says what to do. What has no reservation can take all that the
# account has left, and the worst case counts it so; settle catches up later if it must wait.
functions = {
  authorizer = { reserved_concurrency = 50, traffic = { requests_per_second = 50, seconds = 0.02 } }
  account    = { reserved_concurrency = 10 }
  page       = { reserved_concurrency = 10 }
  settle     = { reserved_concurrency = 5 }
  external   = { reserved_concurrency = 10 }
  mcp        = { reserved_concurrency = 50, traffic = { requests_per_second = 25, seconds = 0.2 } }
  calendar   = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
  postal     = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
  convert    = { reserved_concurrency = 20, traffic = { requests_per_second = 10, seconds = 0.05 } }
}
