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
  description = <<-EOT
    The API that is watched.
      - name, stage: its metrics are filed under both.
      - access_log_group: the log group of its access log.
      - query_fields: by field, the command of Logs Insights that makes it of what the gate said: the
        contract's x-sekisho-query-fields.
  EOT
  type = object({
    name             = string
    stage            = string
    access_log_group = string
    query_fields     = map(string)
  })
  nullable = false
}

variable "door" {
  description = <<-EOT
    What mcp is reached by, for its dollars.
      - kind: rest for the API above, http for an HTTP API, url for a function URL.
      - api_id: that of the HTTP API, which its metrics are filed under.
      - function: the one behind a function URL, by its role.
      - oauth: whether there is an OAuth door beside it, and oauth_api_id, that of its HTTP API.
  EOT
  type = object({
    kind         = string
    api_id       = optional(string)
    function     = optional(string, "mcp")
    oauth        = optional(bool, false)
    oauth_api_id = optional(string)
  })
  default  = { kind = "rest" }
  nullable = false

  validation {
    condition     = contains(["rest", "http", "url"], var.door.kind)
    error_message = "door.kind is rest, http or url."
  }
}

variable "functions" {
  description = <<-EOT
    The functions that are watched, by role such as mcp.
      - name: the function's name in AWS.
      - log_group: the log group that it writes to.
      - memory_mb, architecture: what a second of it is billed by.
      - reserved_concurrency: -1 for none.
  EOT
  type = map(object({
    name                 = string
    log_group            = string
    memory_mb            = number
    architecture         = optional(string, "arm64")
    reserved_concurrency = optional(number, -1)
  }))
  nullable = false
}

variable "counting" {
  description = <<-EOT
    Which of the functions log what they count.
      - refunds: gives failed calls their units back.
      - admissions: admits calls by itself, beside the authorizer; null for none.
  EOT
  type = object({
    refunds    = optional(string, "settle")
    admissions = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = length(setsubtract(compact([var.counting.refunds, var.counting.admissions]), keys(var.functions))) == 0
    error_message = "counting names ${join(", ", setsubtract(compact([var.counting.refunds, var.counting.admissions]), keys(var.functions)))}, which is not one of the functions given: ${join(", ", keys(var.functions))}."
  }
}

variable "money" {
  description = <<-EOT
    What the dashboard's dollars are made of.
      - prices: in US dollars for one, as terms of arithmetic by the names of the table of prices, such as lambda_request = "0.2 / 1000000".
      - alarm_usd_per_hour: the dollars per hour at which the live alarm trips.
  EOT
  type = object({
    prices             = map(string)
    alarm_usd_per_hour = number
  })
  nullable = false

  validation {
    condition     = length(setsubtract(["apigateway_rest_request", "apigateway_http_request", "lambda_request", "lambda_arm64_gb_second", "lambda_x86_64_gb_second", "dynamodb_write_unit", "dynamodb_read_unit", "logs_ingested_gb", "data_out_gb"], keys(var.money.prices))) == 0
    error_message = "money.prices lacks some of apigateway_rest_request, apigateway_http_request, lambda_request, lambda_arm64_gb_second, lambda_x86_64_gb_second, dynamodb_write_unit, dynamodb_read_unit, logs_ingested_gb, data_out_gb."
  }
}

variable "tables" {
  description = "Names of the DynamoDB tables that are watched, by role."
  type        = map(string)
  nullable    = false
}

variable "alarms" {
  description = <<-EOT
    When to wake somebody.
      - refusals_above: answers of 4xx in 5 minutes, denials among them, as an agent in a loop against a used-up key gets.
      - failures_above: answers of 5xx in 5 minutes.
      - latency_ms_above: 95th percentile over 15 minutes.
      - playbooks: address or path of the directory with the playbooks, for the alarms' texts.
      - topic_arns: SNS topics that they notify.
  EOT
  type = object({
    refusals_above   = optional(number, 500)
    failures_above   = optional(number, 20)
    latency_ms_above = optional(number, 10000)
    playbooks        = optional(string, "modules/observability/playbooks")
    topic_arns       = optional(list(string), [])
  })
  default  = {}
  nullable = false

  validation {
    condition     = alltrue([for above in [var.alarms.refusals_above, var.alarms.failures_above, var.alarms.latency_ms_above] : above >= 0])
    error_message = "alarms takes thresholds of 0 or more: answers per 5 minutes, and milliseconds."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}
