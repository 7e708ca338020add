variable "name" {
  description = "Name of the HTTP API, and of what else is made."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,62}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 64 lower-case letters, digits and hyphens, beginning with a letter."
  }
}

variable "kind" {
  description = "http for an HTTP API, url for a function URL that streams."
  type        = string
  nullable    = false

  validation {
    condition     = contains(["http", "url"], var.kind)
    error_message = "kind is http (an HTTP API) or url (a function URL)."
  }
}

variable "location" {
  description = <<-EOT
    Where the function lives: partition, region and account_id. ARNs are composed from them, so that the plan shows them in full.
      - tags: of every resource.
  EOT
  type = object({
    partition  = string
    region     = string
    account_id = string
    tags       = optional(map(string), {})
  })
  nullable = false
}

variable "function" {
  description = <<-EOT
    What is behind the door.
      - name: of the function.
      - alias: the one that callers get.
      - timeout_seconds: its timeout.
      - reserved_concurrency: its ceiling on executions at a time; -1 for none of its own.
  EOT
  type = object({
    name                 = string
    alias                = string
    timeout_seconds      = number
    reserved_concurrency = number
  })
  nullable = false
}

variable "routes" {
  description = "The routes of an HTTP API, such as ANY /mcp; with a final slash a path is another one. What matches none is a 404 and starts nothing. A function URL has no routes."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for route in var.routes : can(regex("^(ANY|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) /", route))])
    error_message = "routes takes a method, or ANY, and a path, such as ANY /mcp."
  }
}

variable "variables" {
  description = "Stage variables of an HTTP API, which are in every event. A function URL has none."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "throttle" {
  description = <<-EOT
    Ceiling on each route of an HTTP API, over all callers.
      - rate_per_second: calls per second on average.
      - burst: calls at once.
    With -1 only the account's ceiling holds. A function URL answers at most ten times its reserved concurrency a second.
  EOT
  type = object({
    rate_per_second = optional(number, 20)
    burst           = optional(number, 40)
  })
  default  = {}
  nullable = false
}

variable "domain" {
  description = <<-EOT
    A domain of your own for an HTTP API; null for none.
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
}
