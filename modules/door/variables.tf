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

variable "functions" {
  description = <<-EOT
    What is behind the door, by role such as mcp. A function URL takes one.
      - name: of the function.
      - alias: the one that callers get.
      - timeout_seconds: its timeout.
      - reserved_concurrency: its ceiling on executions at a time; -1 for none of its own.
  EOT
  type = map(object({
    name                 = string
    alias                = string
    timeout_seconds      = number
    reserved_concurrency = number
  }))
  nullable = false

  validation {
    condition     = length(var.functions) > 0
    error_message = "functions takes at least one function: a door leads somewhere."
  }

  validation {
    condition     = var.kind != "url" || length(var.functions) == 1
    error_message = "A function URL belongs to one function, and functions has ${length(var.functions)}: take the door http."
  }
}

variable "routes" {
  description = <<-EOT
    The routes of an HTTP API, by method and path such as ANY /mcp; with a final slash a path is another one. What matches none is a 404 and starts nothing. A function URL has no routes.
      - function: the one that answers, by its role.
      - rate_per_second, burst: a throttle of its own; null for that of the door.
  EOT
  type = map(object({
    function        = string
    rate_per_second = optional(number)
    burst           = optional(number)
  }))
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for route in keys(var.routes) : can(regex("^(ANY|DELETE|GET|HEAD|OPTIONS|PATCH|POST|PUT) /", route))])
    error_message = "routes takes a method, or ANY, and a path, such as ANY /mcp."
  }

  validation {
    condition     = alltrue([for route in values(var.routes) : contains(keys(var.functions), route.function)])
    error_message = "routes lead to functions by their roles: ${join(", ", keys(var.functions))}. Not so: ${join(", ", [for key, route in var.routes : "${key} to ${route.function}" if !contains(keys(var.functions), route.function)])}."
  }

  validation {
    condition     = alltrue([for route in values(var.routes) : (route.rate_per_second == null) == (route.burst == null)])
    error_message = "A throttle of a route has both rate_per_second and burst: API Gateway takes a missing one for none."
  }
}

variable "variables" {
  description = "Stage variables of an HTTP API, which are in every event. A function URL has none."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "address_variable" {
  description = "Name of the stage variable that tells the functions the address of the door, without a slash at the end; null for none."
  type        = string
  default     = null
}

variable "throttle" {
  description = <<-EOT
    Ceiling on each route of an HTTP API that has none of its own, over all callers.
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
