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
  description = "Path of the OpenAPI description that lists the routes and which function serves each."
  type        = string
  nullable    = false
}

variable "location" {
  description = <<-EOT
    Where the API and its functions live: partition, region and account_id. ARNs are composed from it, so that the plan shows them in full.
  EOT
  type = object({
    partition  = string
    region     = string
    account_id = string
  })
  nullable = false
}

variable "functions" {
  description = <<-EOT
    The functions that serve the API and its authorizer, by the name that the contract uses.
      - name: the function's name in AWS.
      - timeout_seconds: its timeout, which must end before the gateway gives up.
  EOT
  type = map(object({
    name            = string
    timeout_seconds = number
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
    With -1 only the account's ceiling holds.
  EOT
  type = object({
    rate_per_second = optional(number, 20)
    burst           = optional(number, 40)
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
}

variable "braked" {
  description = "Whether the brake is on: the stage then keeps the variables that say so. The throttles that the brake sets are not managed here."
  type        = bool
  default     = false
  nullable    = false
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
