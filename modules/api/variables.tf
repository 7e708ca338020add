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
  description = "Where the API and its functions live. ARNs are composed from it, so that the plan shows the API in full."
  type = object({
    partition  = string
    region     = string
    account_id = string
  })
  nullable = false
}

variable "functions" {
  description = "The functions that serve the API and its authorizer, by the name that the contract uses: the function's name in AWS, and its timeout."
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
  description = "Ceiling on each method of the stage: calls per second on average, and how many at once. API Gateway throttles each method for itself, as a target that it keeps as best it can. -1 is no ceiling but the account's."
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

variable "access_log" {
  description = "Days that the access log is kept, and the function that gives failed calls their units back."
  type = object({
    retention_days = optional(number, 30)
    settle = object({
      function_name = string
    })
  })
  nullable = false
}

variable "domain" {
  description = "A domain of your own: its name, the ACM certificate in the same region, and whether the execute-api address is switched off. Null for none."
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
