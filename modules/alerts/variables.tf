variable "name" {
  description = "Name of the stack, and prefix of what is made here."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "location" {
  description = <<-EOT
    Where the topics live: partition, region and account_id. ARNs are composed from them, so that the plan shows them in full. And what the account asks of what lives there:
      - role_path: of the publishing roles.
      - tags: of every resource.
  EOT
  type = object({
    partition  = string
    region     = string
    account_id = string
    role_path  = optional(string, "/")
    tags       = optional(map(string), {})
  })
  nullable = false
}

variable "emails" {
  description = "Up to 10 addresses that hear about money. Each gets a mail from AWS with a link to confirm, and nothing from the topic before that; budget notifications need no confirmation."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for email in var.emails : can(regex(local.endpoints.email, email))])
    error_message = "emails takes addresses such as finance@example.com. Not one: ${join(", ", [for email in var.emails : email if !can(regex(local.endpoints.email, email))])}."
  }

  validation {
    condition     = length(var.emails) <= 10
    error_message = "emails takes up to 10 addresses: a budget notification can't have more. Give the address of a mailing list."
  }
}

variable "operations_emails" {
  description = "Addresses that hear about failing functions, refusals and latency. Each gets a mail from AWS with a link to confirm."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for email in var.operations_emails : can(regex("^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$", email))])
    error_message = "operations_emails takes addresses such as oncall@example.com. Not one: ${join(", ", [for email in var.operations_emails : email if !can(regex("^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$", email))])}."
  }
}

variable "tag" {
  description = <<-EOT
    The cost allocation tag by which this stack's spending is separated from the rest of the account's. It must be activated once, under Billing, Cost allocation tags, by the account that pays: in an organization its management account.
      - key, value: as resources carry it.
  EOT
  type = object({
    key   = string
    value = string
  })
  nullable = false
}

variable "budget" {
  description = <<-EOT
    The monthly budget, and when finance hears of it.
      - monthly_usd: the budget, in US dollars.
      - actual_percent: the percentages of it, spent, at which finance hears of it.
      - forecast_percent: the same for what AWS forecasts for the month, which needs about 5 weeks of history.
  EOT
  type = object({
    monthly_usd      = optional(number, 10)
    actual_percent   = optional(list(number), [50, 80, 100, 120, 150, 200])
    forecast_percent = optional(list(number), [100])
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.budget.monthly_usd > 0
    error_message = "budget.monthly_usd must be above 0 US dollars a month."
  }

  validation {
    condition     = alltrue([for percent in concat(var.budget.actual_percent, var.budget.forecast_percent) : percent > 0 && percent <= 1000])
    error_message = "budget.actual_percent and budget.forecast_percent take percentages above 0 and up to 1000 of the monthly budget."
  }

  validation {
    condition     = length(var.budget.actual_percent) >= 1 && length(concat(var.budget.actual_percent, var.budget.forecast_percent)) <= 10
    error_message = "budget takes at least one actual threshold, and up to 10 thresholds in all: AWS allows no more for one budget."
  }
}

variable "anomaly" {
  description = <<-EOT
    Cost Anomaly Detection.
      - impact_usd: from how many US dollars of impact on finance hears of it.
      - monitor_arn: the account's SERVICE monitor, which `aws ce get-anomaly-monitors` shows. AWS makes one in accounts opened since 2023. Null for no word about anomalies.
      - own_monitor: whether to make a monitor of this stack's own, by its tag, which works in a management account only.
  EOT
  type = object({
    impact_usd  = optional(number, 5)
    monitor_arn = optional(string)
    own_monitor = optional(bool, false)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.anomaly.impact_usd > 0
    error_message = "anomaly.impact_usd must be above 0 US dollars."
  }

  validation {
    condition     = var.anomaly.monitor_arn == null ? true : can(regex("^arn:[a-z-]+:ce::[0-9]{12}:anomalymonitor/.+$", var.anomaly.monitor_arn))
    error_message = "anomaly.monitor_arn takes the ARN of a monitor: arn:aws:ce::ACCOUNT:anomalymonitor/ID. `aws ce get-anomaly-monitors` shows it."
  }

  validation {
    condition     = !(var.anomaly.own_monitor && var.anomaly.monitor_arn != null)
    error_message = "anomaly takes either monitor_arn or own_monitor = true: a subscription can't be told of one and make another."
  }
}

variable "publishing_roles" {
  description = "IAM roles of this account that publish to the topic too, by a word for the key's policy, such as { brake = \"demo-brake\" }. They may not exist yet."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "usage" {
  description = <<-EOT
    The topic that says which key is about to use up its plan.
      - publishing_role: the IAM role of this account that publishes there, such as "demo-settle". It may not exist yet.
      - subscriptions: protocol (email, https or sqs) and endpoint (address, URL or the queue's ARN) of each. Plans and the state show them in clear text.
  EOT
  type = object({
    publishing_role = string
    subscriptions = optional(list(object({
      protocol = string
      endpoint = string
    })), [])
  })
  nullable = false

  validation {
    condition     = alltrue([for s in var.usage.subscriptions : can(regex(local.endpoints[s.protocol], s.endpoint))])
    error_message = "subscriptions takes { protocol = \"email\", endpoint = \"you@example.com\" }, \"https\" with an https:// URL without user name and password, or \"sqs\" with a queue's ARN, such as arn:aws:sqs:us-east-1:123456789012:usage. Not so: ${join(", ", [for s in var.usage.subscriptions : jsonencode(s) if !can(regex(local.endpoints[s.protocol], s.endpoint))])}."
  }
}
