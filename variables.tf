variable "name" {
  description = "Name of the stack, unique in the account: everything is called <name>-something, and costs are told apart by it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen: roles are called after it and a function, and a role's name has no more than 64."
  }
}

variable "dist" {
  description = "Directory with the functions' zips, one <function>.zip each, as `make build` leaves them."
  type        = string
  default     = "dist"
  nullable    = false
}

variable "plans" {
  description = "The plans: requests per calendar month (UTC) and key by name; null for no limit."
  type        = map(number)
  default     = { free = 1000, starter = 10000, pro = 100000 }
  nullable    = false

  validation {
    condition     = length(var.plans) > 0 && alltrue([for name, limit in var.plans : can(regex("^[a-z][a-z0-9_-]{0,31}$", name))])
    error_message = "plans takes at least one plan, with names of 1 to 32 lower-case letters, digits, hyphens and underscores, beginning with a letter."
  }

  validation {
    condition     = alltrue([for limit in values(var.plans) : limit == null ? true : limit >= 0 && limit <= 1000000000000 && floor(limit) == limit])
    error_message = "plans takes limits in whole requests per month, from 0 to 1000000000000, or null for no limit. Not so: ${join(", ", [for name, limit in var.plans : "${name} = ${limit}" if limit == null ? false : limit < 0 || limit > 1000000000000 || floor(limit) != limit])}."
  }
}

variable "settings" {
  description = <<-EOT
    How the stack behaves.
      - upgrade_url: an agent whose limit is used up is given this address.
      - key_cache_seconds: the longest that a revoked key lives on.
      - denial_memory_seconds: how long an instance remembers a used-up key.
      - allowed_origins: web pages that may call /mcp from a browser.
      - tool_names: how tools are listed over MCP: underscore (calendar_holidays) or canonical (calendar.holidays), which some clients refuse.
      - log_level: debug, info, warn or error.
  EOT
  type = object({
    upgrade_url           = optional(string, "")
    key_cache_seconds     = optional(number, 30)
    denial_memory_seconds = optional(number, 3)
    allowed_origins       = optional(list(string), [])
    tool_names            = optional(string, "underscore")
    log_level             = optional(string, "info")
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.settings.upgrade_url == "" || can(regex("^https://[A-Za-z0-9._~:/?#@!$&()*+,;=%-]+$", var.settings.upgrade_url))
    error_message = "settings.upgrade_url takes an https:// address without spaces or quotes: it is put into answers as it stands."
  }

  validation {
    condition = alltrue([
      for seconds in [var.settings.key_cache_seconds, var.settings.denial_memory_seconds] :
      seconds >= 0 && seconds <= 300 && floor(seconds) == seconds
    ])
    error_message = "settings.key_cache_seconds and settings.denial_memory_seconds take whole seconds from 0 to 300."
  }

  validation {
    condition     = alltrue([for origin in var.settings.allowed_origins : can(regex("^https?://[^/,\\s]+$", origin))])
    error_message = "settings.allowed_origins takes origins such as https://app.example.com: scheme and host, no path, no comma."
  }

  validation {
    condition     = contains(["underscore", "canonical"], var.settings.tool_names)
    error_message = "settings.tool_names is underscore or canonical."
  }

  validation {
    condition     = contains(["debug", "info", "warn", "error"], var.settings.log_level)
    error_message = "settings.log_level is debug, info, warn or error."
  }
}

variable "upstream" {
  description = <<-EOT
    What the tools external.* call.
      - url: the address that /stats/ID and /publications are below; null for no upstream, and the tools say that there is none.
      - token_parameter: name of the SecureString in SSM Parameter Store that holds its bearer token. Make it yourself, so that no plan and no state holds the token.
      - token_key_arn: the KMS key of that parameter, if it is one of your own.
      - burst: calls at once, over all instances.
      - rate_per_second: calls per second in the long run.
      - publish_per_day: publications per UTC day.
      - timeout_seconds: of one attempt.
  EOT
  type = object({
    url             = optional(string)
    token_parameter = optional(string)
    token_key_arn   = optional(string)
    burst           = optional(number, 5)
    rate_per_second = optional(number, 1)
    publish_per_day = optional(number, 1)
    timeout_seconds = optional(number, 15)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.upstream.url == null ? var.upstream.token_parameter == null : can(regex("^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/-]*)?$", var.upstream.url))
    error_message = "upstream.url takes an https:// address without credentials, query and fragment: plans show it in clear text. The token goes into SSM Parameter Store, and its parameter's name into upstream.token_parameter; without a url there is nothing to send it to."
  }

  validation {
    condition     = var.upstream.token_parameter == null ? var.upstream.token_key_arn == null : can(regex("^/?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", var.upstream.token_parameter))
    error_message = "upstream.token_parameter takes the name of a parameter, such as /sekisho/upstream-token: not its ARN, and not the token."
  }

  validation {
    condition     = var.upstream.token_key_arn == null ? true : can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.upstream.token_key_arn))
    error_message = "upstream.token_key_arn takes the ARN of a KMS key (not of an alias), or null where the parameter is encrypted with the account's own aws/ssm."
  }

  validation {
    condition = (
      var.upstream.burst >= 1 && var.upstream.burst <= 1000 && floor(var.upstream.burst) == var.upstream.burst &&
      var.upstream.rate_per_second >= 0.001 && var.upstream.rate_per_second <= 1000
    )
    error_message = "upstream.burst takes whole calls from 1 to 1000, and upstream.rate_per_second calls per second from 0.001 to 1000."
  }

  validation {
    condition = (
      var.upstream.publish_per_day >= 0 && var.upstream.publish_per_day <= 100000 && floor(var.upstream.publish_per_day) == var.upstream.publish_per_day &&
      var.upstream.timeout_seconds >= 1 && var.upstream.timeout_seconds <= 25
    )
    error_message = "upstream.publish_per_day takes whole publications from 0 to 100000, and upstream.timeout_seconds seconds from 1 to 25: the gateway waits for 29."
  }
}

variable "functions" {
  description = <<-EOT
    What is to differ for a function, by its name (authorizer, settle, or one that the contract names).
      - memory_mb, timeout_seconds: instead of those in the contract's x-sekisho-functions.
      - architecture: arm64 or x86_64, as its zip was built.
      - reserved_concurrency: -1 for none, 0 to switch it off, n to set n aside and allow no more.
      - environment: more environment variables.
      - traffic: expected requests_per_second at the peak, and seconds that one takes; `sizing` suggests a reservation from it.
  EOT
  type = map(object({
    memory_mb            = optional(number)
    timeout_seconds      = optional(number)
    architecture         = optional(string)
    reserved_concurrency = optional(number)
    environment          = optional(map(string), {})
    traffic = optional(object({
      requests_per_second = number
      seconds             = number
    }))
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(setsubtract(keys(var.functions), local.names)) == 0
    error_message = "functions names what is not a function: ${join(", ", setsubtract(keys(var.functions), local.names))}. There are ${join(", ", local.names)}."
  }

  validation {
    condition     = alltrue([for function in values(var.functions) : contains(["arm64", "x86_64"], coalesce(function.architecture, "arm64"))])
    error_message = "functions.<name>.architecture is arm64 or x86_64, and must be the one that the zip was built for."
  }
}

variable "api" {
  description = <<-EOT
    The gateway.
      - contract: path of the OpenAPI description; null for the one in this repository.
      - stage: name of the stage.
      - throttle: ceiling on each method, over all keys: calls per second on average, and how many at once; -1 for none.
      - domain: a domain of your own, with its certificate, and whether the execute-api address is switched off.
  EOT
  type = object({
    contract = optional(string)
    stage    = optional(string, "live")
    throttle = optional(object({
      rate_per_second = optional(number, 20)
      burst           = optional(number, 40)
    }), {})
    domain = optional(object({
      name                    = string
      certificate_arn         = string
      disable_default_address = optional(bool, true)
    }))
  })
  default  = {}
  nullable = false
}

variable "tables" {
  description = <<-EOT
    The tables.
      - deletion_protection: whether AWS refuses to delete them.
      - point_in_time_recovery: backups of the last 35 days.
      - max_units_per_second: ceiling on the read and write units that each may consume; null for none.
  EOT
  type = object({
    deletion_protection    = optional(bool, true)
    point_in_time_recovery = optional(bool, true)
    max_units_per_second = optional(object({
      read  = optional(number)
      write = optional(number)
    }), {})
  })
  default  = {}
  nullable = false
}

variable "observability" {
  description = <<-EOT
    Logs, traces and alarms.
      - log_retention_days: how long logs are kept.
      - tracing: X-Ray, billed by trace.
      - alarms: their thresholds; modules/observability says what they mean.
  EOT
  type = object({
    log_retention_days = optional(number, 30)
    tracing            = optional(bool, false)
    alarms = optional(object({
      refusals_above   = optional(number, 500)
      failures_above   = optional(number, 20)
      latency_ms_above = optional(number, 10000)
    }), {})
  })
  default  = {}
  nullable = false
}

variable "cost" {
  description = <<-EOT
    Money.
      - emails: who hears about it.
      - monthly_usd: the monthly budget.
      - actual_percent, forecast_percent: the percentages of it, spent or forecast, at which they hear of it. Each is announced once a month, so those above brake.percent put a brake on again that was released.
      - anomaly_usd: from how many dollars an anomaly is worth a message.
      - monitor_arn: the account's SERVICE anomaly monitor; null for one of this stack's own.
      - live: the alarm on dollars per hour, estimated from live metrics, that brakes within minutes (modules/spend_alarm); usd_per_hour null for what would use up the budget in 72 hours; datapoints minutes above it of the last of.
      - brake: from which percentage of the budget, spent, it brakes; which functions it stops (null for all that the contract lets it stop); the architecture of its zip.
      - prices: US dollars to use instead of those in functions/internal/money/price/prices.json, by its names.
  EOT
  type = object({
    emails           = optional(list(string), [])
    monthly_usd      = optional(number, 10)
    actual_percent   = optional(list(number), [50, 80, 100, 120, 150, 200])
    forecast_percent = optional(list(number), [100])
    anomaly_usd      = optional(number, 5)
    monitor_arn      = optional(string)
    live = optional(object({
      usd_per_hour = optional(number)
      datapoints   = optional(number, 3)
      of           = optional(number, 5)
    }), {})
    brake = optional(object({
      percent      = optional(number, 100)
      functions    = optional(list(string))
      architecture = optional(string, "arm64")
    }), {})
    prices = optional(map(number), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = length(setintersection(coalesce(var.cost.brake.functions, []), local.never_braked)) == 0
    error_message = "cost.brake.functions names ${join(", ", setintersection(coalesce(var.cost.brake.functions, []), local.never_braked))}, which the brake never stops: without the authorizer and account nobody sees why, without settle failed calls stay charged. Name functions that serve calls: ${join(", ", local.can_be_braked)}."
  }

  validation {
    condition     = length(setsubtract(coalesce(var.cost.brake.functions, []), keys(local.table))) == 0
    error_message = "cost.brake.functions names what serves no calls: ${join(", ", setsubtract(coalesce(var.cost.brake.functions, []), keys(local.table)))}. There are ${join(", ", local.can_be_braked)}."
  }

  validation {
    condition     = var.cost.live.usd_per_hour == null ? true : var.cost.live.usd_per_hour > 0
    error_message = "cost.live.usd_per_hour must be above 0 US dollars an hour, or null for the monthly budget divided by 72 hours."
  }

  validation {
    condition     = anytrue([for percent in var.cost.actual_percent : percent >= var.cost.brake.percent])
    error_message = "cost.brake.percent is ${var.cost.brake.percent}, above every one of cost.actual_percent (${join(", ", var.cost.actual_percent)}): no message would put the brake on. Add ${var.cost.brake.percent} to cost.actual_percent, or lower cost.brake.percent."
  }
}

variable "concurrency_quota" {
  description = "The account's quota of concurrent executions. Null asks Service Quotas, which needs the permission to do so."
  type        = number
  default     = null

  validation {
    condition     = var.concurrency_quota == null ? true : var.concurrency_quota >= 1 && floor(var.concurrency_quota) == var.concurrency_quota
    error_message = "concurrency_quota takes the account's quota as a whole number of at least 1 (1000 unless it was changed; 10 in many new accounts), or null."
  }
}

variable "as_written" {
  description = "The settings as they were written, by the names of the variables above, before their types are applied: what is misspelt in them is refused. Left out, nothing is checked."
  type        = any
  default     = {}
  nullable    = false
}
