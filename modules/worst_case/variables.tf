variable "prices" {
  description = <<-EOT
    Prices in US dollars for one, by the names of the table of prices: the output `prices` of spend_alarm.
      - usd: as numbers.
      - usd_for_one: as terms of arithmetic, such as "3.5 / 1000000".
      - note: where they hold.
  EOT
  type = object({
    usd         = map(number)
    usd_for_one = map(string)
    note        = string
  })
  nullable = false
}

variable "trip" {
  description = <<-EOT
    When the brake comes: the output `trip` of spend_alarm.
      - usd_per_hour: above how many US dollars an hour the alarm trips.
      - delay_seconds: from the first expensive minute until the last function has stopped.
      - how: how that adds up.
  EOT
  type = object({
    usd_per_hour  = number
    delay_seconds = number
    how           = string
  })
  nullable = false
}

variable "api" {
  description = <<-EOT
    The API's ceilings.
      - methods: how many methods the stage has.
      - rate_per_second, burst: the throttle of each method; -1 for none.
  EOT
  type = object({
    methods         = number
    rate_per_second = number
    burst           = number
  })
  nullable = false
}

variable "functions" {
  description = <<-EOT
    The functions and their ceilings, by role such as mcp.
      - methods: how many starts a call of every method of the API comes to; 0 for a function that messages start.
      - memory_mb, timeout_seconds, architecture: what it runs with.
      - reserved_concurrency: how many run at once; -1 for as many as the account has left.
  EOT
  type = map(object({
    methods              = number
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
