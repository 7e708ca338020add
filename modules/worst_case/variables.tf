variable "prices" {
  description = "Prices in US dollars for one, by the names of the table of prices: the output `prices.usd` of spend_alarm."
  type        = map(number)
  nullable    = false
}

variable "most" {
  description = <<-EOT
    The most that one request can come to, and the account's own limit on requests.
      - log_bytes, answer_bytes, write_units, read_units: of a request that is let through.
      - record_bytes, refusal_bytes: of one that is refused.
      - deliveries: how often a record starts the function on the log.
      - account_per_second, account_burst: requests that API Gateway takes for the whole account.
  EOT
  type = object({
    log_bytes          = number
    answer_bytes       = number
    write_units        = number
    read_units         = number
    record_bytes       = number
    refusal_bytes      = number
    deliveries         = number
    account_per_second = number
    account_burst      = number
  })
  nullable = false
}

variable "trip" {
  description = <<-EOT
    When the brake comes: the output `trip` of spend_alarm.
      - usd_per_hour: above how many US dollars an hour the alarm trips.
      - delay_seconds: from the first expensive minute until the last function has stopped.
  EOT
  type = object({
    usd_per_hour  = number
    delay_seconds = number
  })
  nullable = false
}

variable "methods" {
  description = <<-EOT
    The stage's methods, such as "GET /v1/postal", each of which API Gateway throttles for itself.
      - function: the one that it starts, null for none.
      - key: whether it asks for a key, and so starts the authorizer.
      - closed: whether the brake closes it.
      - rate_per_second, burst: its throttle; -1 for none.
  EOT
  type = map(object({
    function        = optional(string)
    key             = bool
    closed          = bool
    rate_per_second = number
    burst           = number
  }))
  nullable = false
}

variable "functions" {
  description = <<-EOT
    The functions and their ceilings, by role such as mcp.
      - started_by: authorizer, log, messages, or oauth for one that only the OAuth door leads to; anything else by its methods, and proxy means that it is mcp, which a door leads to.
      - memory_mb, timeout_seconds, architecture: what it runs with.
      - reserved_concurrency: how many run at once; -1 for as many as the account has left.
  EOT
  type = map(object({
    started_by           = string
    memory_mb            = number
    timeout_seconds      = number
    architecture         = optional(string, "arm64")
    reserved_concurrency = optional(number, -1)
  }))
  nullable = false
}

variable "tables" {
  description = "The tables' ceilings, by role: read and write units per second, null for none."
  type = map(object({
    read  = optional(number)
    write = optional(number)
  }))
  nullable = false
}

variable "unreserved_concurrency" {
  description = "Concurrent executions that the account has left for functions that reserve none."
  type        = number
  nullable    = false
}

variable "door" {
  description = <<-EOT
    What /mcp is reached by.
      - kind: rest for the methods above, http for an HTTP API, url for a function URL.
      - routes, rate_per_second, burst: those of an HTTP API, and the throttle of each.
      - oauth_routes: those of an OAuth door beside it, which is an HTTP API too: function, and the throttle of each.
  EOT
  type = object({
    kind            = string
    routes          = optional(list(string), [])
    rate_per_second = optional(number, -1)
    burst           = optional(number, -1)
    oauth_routes = optional(map(object({
      function        = string
      rate_per_second = number
      burst           = number
    })), {})
  })
  default  = { kind = "rest" }
  nullable = false

  validation {
    condition     = contains(["rest", "http", "url"], var.door.kind)
    error_message = "door.kind is rest, http or url."
  }
}

variable "dispatch" {
  description = "How mcp gets calls to their functions: proxy (through the REST API) or direct (it invokes those started by api)."
  type        = string
  default     = "proxy"
  nullable    = false

  validation {
    condition     = contains(["proxy", "direct"], var.dispatch)
    error_message = "dispatch is proxy or direct."
  }
}

variable "braked" {
  description = "The functions that the brake stops. Methods say for themselves whether they are closed."
  type        = list(string)
  default     = []
  nullable    = false
}
