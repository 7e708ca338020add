variable "name" {
  description = "Name of the function, of its role and of its log group."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9_-]{1,62}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 64 lower-case letters, digits, hyphens and underscores, beginning with a letter: it also names an IAM role, which takes no more than 64."
  }
}

variable "zip" {
  description = "Path of the finished zip, with an executable called bootstrap at its top. Terraform compiles nothing."
  type        = string
  nullable    = false
}

variable "location" {
  description = <<-EOT
    Where the function lives: partition, region and account_id. ARNs are composed from them, so that the plan shows them in full. And what the account asks of what lives there:
      - permissions_boundary, role_path: of the function's role.
      - kms_key_arn: a key of your own for log, environment and queue. Its policy must let logs.REGION.amazonaws.com use it, and the function gets the right to.
      - vpc: subnet_ids and security_group_ids, for a function that calls what only a private network reaches; null for none.
      - tags: of every resource.
  EOT
  type = object({
    partition            = string
    region               = string
    account_id           = string
    permissions_boundary = optional(string)
    role_path            = optional(string, "/")
    kms_key_arn          = optional(string)
    vpc = optional(object({
      subnet_ids         = list(string)
      security_group_ids = list(string)
    }))
    tags = optional(map(string), {})
  })
  nullable = false
}

variable "runtime" {
  description = <<-EOT
    What the function gets.
      - memory_mb: CPU grows with it.
      - timeout_seconds: of one invocation.
      - architecture: arm64 or x86_64, as the zip was built; arm64 costs a fifth less.
      - tracing: X-Ray, billed by trace.
      - alias: whether the alias live, by which callers go, is made here; false for a function that has none, or gets it elsewhere.
      - version: the published version that callers get; null for the newest. An older one is a rollback.
      - asynchronous: whether it is started by somebody who does not wait for it, such as SNS. An event that still fails after Lambda's own retries then goes to a queue, with an alarm on it.
  EOT
  type = object({
    memory_mb       = number
    timeout_seconds = number
    architecture    = optional(string, "arm64")
    tracing         = optional(bool, false)
    alias           = optional(bool, true)
    version         = optional(string)
    asynchronous    = optional(bool, false)
  })
  nullable = false

  validation {
    condition     = var.runtime.memory_mb >= 128 && var.runtime.memory_mb <= 10240 && floor(var.runtime.memory_mb) == var.runtime.memory_mb
    error_message = "runtime.memory_mb takes whole megabytes from 128 to 10240."
  }

  validation {
    condition     = var.runtime.timeout_seconds >= 1 && var.runtime.timeout_seconds <= 900 && floor(var.runtime.timeout_seconds) == var.runtime.timeout_seconds
    error_message = "runtime.timeout_seconds takes whole seconds from 1 to 900."
  }

  validation {
    condition     = contains(["arm64", "x86_64"], var.runtime.architecture)
    error_message = "runtime.architecture is arm64 or x86_64, and must be the one that the zip was built for."
  }
}

variable "environment" {
  description = "Environment variables of the function. No secrets: whoever may read the function reads them."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "statements" {
  description = <<-EOT
    What the function may do besides writing to its own log group.
      - actions: each in full.
      - resources: the ARNs that they are allowed on.
      - leading_keys: of a DynamoDB table, the items by their partition keys, such as grant#*; null for all of them.
  EOT
  type = list(object({
    actions      = list(string)
    resources    = list(string)
    leading_keys = optional(list(string))
  }))
  default  = []
  nullable = false

  validation {
    condition     = alltrue([for action in flatten(var.statements[*].actions) : !strcontains(action, "*")])
    error_message = "statements name each action in full, such as dynamodb:GetItem: a wildcard allows more than the function uses."
  }

  validation {
    condition     = alltrue([for resource in flatten(var.statements[*].resources) : resource != "*"])
    error_message = "statements name the ARNs that they are allowed on, not \"*\"."
  }

  # A condition on all of no values holds: an action without an item to name would be allowed on every one.
  validation {
    condition     = alltrue([for s in var.statements : s.leading_keys == null ? true : length(s.leading_keys) > 0 && !anytrue([for action in s.actions : contains(["dynamodb:Scan", "dynamodb:PartiQLSelect"], action)])])
    error_message = "leading_keys takes at least one pattern, and no dynamodb:Scan or dynamodb:PartiQLSelect beside it: they name no item, so the condition would not hold them back."
  }
}

variable "reserved_concurrency" {
  description = "Ceiling on executions at a time: -1 for none of its own, 0 to switch the function off, n to set n aside in the account's quota."
  type        = number
  default     = -1
  nullable    = false

  validation {
    condition     = var.reserved_concurrency >= -1 && floor(var.reserved_concurrency) == var.reserved_concurrency
    error_message = "reserved_concurrency takes -1 (unreserved), 0 (switched off) or a whole number of executions."
  }
}

variable "log_retention_days" {
  description = "Days that the function's log is kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653], var.log_retention_days)
    error_message = "log_retention_days takes what CloudWatch offers: 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288 or 3653."
  }
}

variable "alarms" {
  description = <<-EOT
    Alarms on the function, over 5 minutes each; null for none.
      - topic_arns: the SNS topics that they notify, of the end too.
      - errors_above, throttles_above: how many are still all right.
      - errors_in: where errors are counted. metric is Lambda's own, which counts every error that the function returns; log counts lines of level error, timeouts and crashes, for a function that returns errors in the ordinary run of things, as an authorizer does with every wrong key.
      - playbooks: address or path of the directory with modules/observability's playbooks, for the alarms' texts.
  EOT
  type = object({
    topic_arns      = optional(list(string), [])
    errors_above    = optional(number, 5)
    throttles_above = optional(number, 10)
    errors_in       = optional(string, "metric")
    playbooks       = optional(string, "modules/observability/playbooks")
  })
  default = null

  validation {
    condition     = var.alarms == null ? true : contains(["metric", "log"], var.alarms.errors_in)
    error_message = "alarms.errors_in is metric or log."
  }

  validation {
    condition     = var.alarms == null ? true : var.alarms.errors_above >= 0 && var.alarms.throttles_above >= 0
    error_message = "alarms.errors_above and alarms.throttles_above take counts per period, of 0 or more."
  }
}

variable "traffic" {
  description = <<-EOT
    Expected load, for the suggested reservation; null when unknown.
      - requests_per_second: at the peak.
      - seconds: that one request takes on average.
  EOT
  type = object({
    requests_per_second = number
    seconds             = number
  })
  default = null

  validation {
    condition     = var.traffic == null ? true : var.traffic.requests_per_second > 0 && var.traffic.seconds > 0 && var.traffic.seconds <= 900
    error_message = "traffic.requests_per_second must be above 0, and traffic.seconds above 0 and at most 900."
  }
}
