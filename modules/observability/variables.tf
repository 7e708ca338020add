variable "name" {
  description = "Name of the stack, of its dashboard, and prefix of its alarms."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "region" {
  description = "Region of the metrics that the dashboard shows."
  type        = string
  nullable    = false
}

variable "api" {
  description = "The API that is watched: its name and stage (its metrics are filed under both) and the log group of its access log."
  type = object({
    name             = string
    stage            = string
    access_log_group = string
  })
  nullable = false
}

variable "functions" {
  description = "Names of the functions that are watched, by role, such as mcp = \"sekisho-dev-mcp\"."
  type        = map(string)
  nullable    = false
}

variable "tables" {
  description = "Names of the DynamoDB tables that are watched, by role."
  type        = map(string)
  nullable    = false
}

variable "topic_arns" {
  description = "SNS topics that the alarms notify."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "alarms" {
  description = "When to wake somebody. refusals_above: answers of 4xx in 5 minutes, denials among them, as an agent in a loop against a used-up key gives. failures_above: answers of 5xx in 5 minutes. latency_ms_above: 95th percentile over 15 minutes."
  type = object({
    refusals_above   = optional(number, 500)
    failures_above   = optional(number, 20)
    latency_ms_above = optional(number, 10000)
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for value in values(var.alarms) : value >= 0])
    error_message = "alarms takes thresholds of 0 or more: answers per 5 minutes, and milliseconds."
  }
}
