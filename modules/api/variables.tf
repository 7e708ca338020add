variable "name" {
  description = "Name of the REST API."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,62}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 64 lower-case letters, digits and hyphens, beginning with a letter."
  }
}

variable "contract" {
  description = "Path of the merged contract, JSON, which lists the routes and which function serves each."
  type        = string
  nullable    = false
}

variable "location" {
  description = <<-EOT
    Where the API and its functions live: partition, region and account_id. ARNs are composed from them, so that the plan shows them in full. And what the account asks of what lives there:
      - kms_key_arn: a key of your own for the access log, whose policy must let logs.REGION.amazonaws.com use it.
      - tags: of every resource.
  EOT
  type = object({
    partition   = string
    region      = string
    account_id  = string
    kms_key_arn = optional(string)
    tags        = optional(map(string), {})
  })
  nullable = false
}

variable "functions" {
  description = <<-EOT
    The functions that serve the API and its authorizer, by the name that the contract uses.
      - name: the function's name in AWS.
      - timeout_seconds: its timeout, which must end before the gateway gives up.
      - follows: the version that its alias live gets after the routes are there, for a function that lists them; null for one that has its alias already.
      - lists: whether follows is given.
      - elsewhere: whether another door serves its operations, so that the API has none of them.
      - streaming: whether its answers go out while it makes them; each must begin with status and headers in the format of response streaming.
  EOT
  type = map(object({
    name            = string
    timeout_seconds = number
    lists           = optional(bool, false)
    elsewhere       = optional(bool, false)
    streaming       = optional(bool, false)
    follows         = optional(string)
  }))
  nullable = false
}

variable "authorizer" {
  description = "Which of the functions admits calls."
  type        = string
  default     = "authorizer"
  nullable    = false
}

variable "throttle" {
  description = <<-EOT
    Ceiling on each method of the stage. API Gateway throttles each method separately, as a target that it keeps as best it can.
      - rate_per_second: calls per second on average.
      - burst: calls at once.
      - braked: whether the brake is on. The stage then keeps the variables that say so, and the throttles that the brake set stay as they are.
      - methods: lower ones of single methods, by names such as "GET /v1/health". One that the brake has closed gets a throttle of 0, as the brake gave it, until it is released.
    With -1 only the account's ceiling holds.
  EOT
  type = object({
    rate_per_second = optional(number, 20)
    burst           = optional(number, 40)
    braked          = optional(bool, false)
    methods = optional(map(object({
      rate_per_second = number
      burst           = number
      closed          = optional(bool, false)
    })), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.throttle.rate_per_second == -1 || var.throttle.rate_per_second > 0 && var.throttle.rate_per_second <= 10000
    error_message = "throttle.rate_per_second must be above 0 and at most 10000, the quota of an account, or -1 for no ceiling."
  }

  validation {
    condition     = var.throttle.burst == -1 || var.throttle.burst >= 1 && var.throttle.burst <= 5000 && floor(var.throttle.burst) == var.throttle.burst
    error_message = "throttle.burst takes a whole number of calls from 1 to 5000, the quota of an account, or -1 for no ceiling."
  }

  # The worst case counts every method with the rate of all, so a single one may only be lower.
  validation {
    condition = alltrue([
      for t in values(var.throttle.methods) :
      t.rate_per_second > 0 && t.burst >= 1 && floor(t.burst) == t.burst
      && (var.throttle.rate_per_second == -1 || t.rate_per_second <= var.throttle.rate_per_second)
      && (var.throttle.burst == -1 || t.burst <= var.throttle.burst)
    ])
    error_message = "throttle.methods takes a rate_per_second above 0 and a whole burst of at least 1, neither above throttle.rate_per_second and throttle.burst. To let one method have more, raise those and lower the others."
  }
}

variable "waf" {
  description = <<-EOT
    A rule of AWS WAF against floods from one address; null for none. 6 USD a month, and 0.60 USD for a million requests.
      - requests_per_5_minutes: of one address; above it, it gets 429 until it asks less.
  EOT
  type = object({
    requests_per_5_minutes = number
  })
  default = null

  validation {
    condition     = var.waf == null ? true : var.waf.requests_per_5_minutes >= 10 && floor(var.waf.requests_per_5_minutes) == var.waf.requests_per_5_minutes
    error_message = "waf.requests_per_5_minutes takes a whole number of at least 10, the least that WAF counts by."
  }
}

variable "access_log" {
  description = <<-EOT
    The record of every request.
      - retention_days: how long it is kept.
      - settle: the function that gives failed calls their units back.
  EOT
  type = object({
    retention_days = optional(number, 30)
    settle = object({
      function_name = string
    })
  })
  nullable = false
}

variable "domain" {
  description = <<-EOT
    A domain of your own; null for none.
      - name: a host name.
      - certificate_arn: its ACM certificate, in the same region.
      - disable_default_address: whether the execute-api address is switched off.
  EOT
  type = object({
    name                    = string
    certificate_arn         = string
    disable_default_address = optional(bool, true)
  })
  default = null

  validation {
    condition     = var.domain == null ? true : can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.domain.name))
    error_message = "domain.name takes a host name such as mcp.example.com: no scheme, no path."
  }

  validation {
    condition     = var.domain == null ? true : can(regex("^arn:[a-z-]+:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$", var.domain.certificate_arn))
    error_message = "domain.certificate_arn takes the ARN of an ACM certificate: arn:aws:acm:REGION:ACCOUNT:certificate/ID."
  }
}

variable "stage" {
  description = "Name of the stage; the first part of every path below the execute-api address."
  type        = string
  default     = "live"
  nullable    = false

  validation {
    condition     = can(regex("^[a-zA-Z0-9_-]{1,128}$", var.stage))
    error_message = "stage takes letters, digits, hyphens and underscores, up to 128."
  }
}
