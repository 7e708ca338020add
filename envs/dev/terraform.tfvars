# A stack to try things out on. Idle it costs about 4 USD a month (alarms, and the key that
# encrypts messages about money); calls cost by use. Every value may be changed; what is left
# out takes the default in ../../variables.tf.
#
# Values of your own can go into local.auto.tfvars beside this file: Terraform loads it after this
# one, and git ignores it.

region = "us-east-1"

# Everything is called after this. Two stacks in one account need two names.
name = "sekisho-dev"

# What each plan allows a key: units per calendar month and per day (UTC), and calls per second,
# with burst at once. A call takes one unit, unless the contract says more. Every part is
# optional; {} has no limit. The day keeps a runaway agent from using up the month in an hour.
plans = {
  free     = { monthly = 1000, daily = 200, per_second = 2, burst = 10 }
  starter  = { monthly = 10000, daily = 2000, per_second = 5, burst = 20 }
  pro      = { monthly = 100000 }
  internal = {}
}

# Who hears when a key has used up part of its month, and at which percentages. An address must
# confirm first, as must what answers at an https:// URL.
alerts = {
  usage_percent = [80, 100]
  subscriptions = [] # [{ protocol = "email", endpoint = "you@example.com" }]
}

# Ceiling over all keys together, for each method of the API: calls per second on average,
# and how many at once.
api = {
  throttle = { rate_per_second = 10, burst = 20 }
}

# `terraform destroy` deletes the tables with all keys and counts. Not so in prod.
tables = {
  deletion_protection    = false
  point_in_time_recovery = false
}

# emails here are of those who mend functions; those of cost hear about money.
observability = {
  emails             = [] # ["oncall@example.com"]
  log_retention_days = 7
}

# Who hears about money, and when. Each address gets a mail to confirm first. The budget counts
# what carries the tag sekisho-stack, once that is activated under Billing, Cost allocation tags.
# In an organization only the management account can do that; until then the budget stays at 0,
# and the live alarm alone watches. monitor_arn is the account's anomaly monitor of services
# (`aws ce get-anomaly-monitors`), which a stack in a member account can't make.
# The live alarm trips at what would use up the month in a weekend, here 0.14 USD an hour; for
# another rate add live = { usd_per_hour = 0.5 }. `terraform output worst_case_usd_per_hour` tells
# what the ceilings let an hour cost.
cost = {
  emails      = [] # ["you@example.com"]
  monthly_usd = 10
  # monitor_arn = "arn:aws:ce::123456789012:anomalymonitor/…"
}

# What a landing zone asks of everything in an account; null and left out, nothing.
# account = {
#   permissions_boundary = "arn:aws:iam::123456789012:policy/boundary"
#   role_path            = "/service/"
#   kms_key_arn          = "arn:aws:kms:us-east-1:123456789012:key/…" # of tables, logs, environments
#   vpc                  = { subnet_ids = ["subnet-…"], security_group_ids = ["sg-…"], functions = ["external"] }
# }
# tags = { team = "agents" }

# Hosts that take no key get a second door, where people sign in with theirs; envs/README.md explains it.
# mcp   = { dispatch = "direct", door = "http" }
# oauth = { enabled = true }

# The services behind the contract, by its names for them: external is what the default tools
# external.* call. A credential never comes here: put it into SSM Parameter Store or Secrets Manager, and say where it is.
# backends = {
#   orders = {
#     url             = "https://api.example.com/v2" # or function_arn = "arn:aws:lambda:…"
#     auth            = { type = "bearer", parameter = "/sekisho-dev/orders-token" } # or header, basic, query
#     signing         = { parameter = "/sekisho-dev/orders-signing-key" } # so that it can trust who calls
#     timeout_seconds = 15 # of one attempt
#     rate_per_second = 1  # over all instances; left out, there is no limit
#     burst           = 5
#   }
# }

# Per function, where the default does not do. reserved_concurrency is a hard ceiling on
# how many run at once: -1 is none, 0 switches the function off. New accounts have a quota
# of 10 in all, where nothing can be reserved; so nothing is reserved here.
# functions = {
#   calendar = {
#     reserved_concurrency = 5
#     traffic              = { requests_per_second = 5, seconds = 0.4 }
#   }
# }
