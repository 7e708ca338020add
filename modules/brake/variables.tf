variable "name" {
  description = "Name of the stack; the function is called <name>-brake."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "location" {
  description = <<-EOT
    Where the stack lives, and what the account asks of what lives there, as modules/function takes it: partition, region, account_id, permissions_boundary, role_path, kms_key_arn, vpc and tags.
  EOT
  type = object({
    partition            = string
    region               = string
    account_id           = string
    permissions_boundary = optional(string)
    role_path            = optional(string, "/")
    kms_key_arn          = optional(string)
    vpc = optional(object({
      subnet_ids         = list(string)
      security_group_ids = list(string)
    }))
    tags = optional(map(string), {})
  })
  nullable = false
}

variable "zip" {
  description = "Path of the function's finished zip."
  type        = string
  nullable    = false
}

variable "runtime" {
  description = <<-EOT
    What the function gets, as modules/function takes it.
      - memory_mb, timeout_seconds: from the contract's table.
      - architecture: arm64 or x86_64, as its zip was built.
      - tracing: X-Ray, billed by trace.
  EOT
  type = object({
    memory_mb       = number
    timeout_seconds = number
    architecture    = optional(string, "arm64")
    tracing         = optional(bool, false)
  })
  nullable = false
}

variable "functions" {
  description = "Names of the functions that the brake stops. The function refuses to start if one of them is marked braked: false in the contract."
  type        = list(string)
  nullable    = false

  validation {
    condition     = length(var.functions) > 0
    error_message = "functions takes at least one: a brake that stops nothing is none."
  }
}

variable "api" {
  description = <<-EOT
    The API whose methods the brake closes.
      - id: of the REST API.
      - stage: name of its stage.
  EOT
  type = object({
    id    = string
    stage = string
  })
  nullable = false
}

variable "accounts_table" {
  description = "Name of the table in which the brake remembers what it stopped."
  type        = string
  nullable    = false
}

variable "obeys" {
  description = <<-EOT
    The messages that put the brake on.
      - topic_name: name of the topic that they come by; the brake announces there what it did.
      - alarm_names: alarms that put it on when they go to ALARM.
      - budget_name, budget_percent: the budget that puts it on, and how much of it must be spent.
  EOT
  type = object({
    topic_name     = string
    alarm_names    = list(string)
    budget_name    = string
    budget_percent = optional(number, 100)
  })
  nullable = false
}

variable "log_retention_days" {
  description = "Days that the function's log is kept."
  type        = number
  default     = 30
  nullable    = false
}

variable "alarms" {
  description = <<-EOT
    Who hears that the brake itself failed.
      - topic_arns: SNS topics of people who mend functions.
      - playbooks: address or path of the directory with modules/observability's playbooks.
  EOT
  type = object({
    topic_arns = optional(list(string), [])
    playbooks  = optional(string, "modules/observability/playbooks")
  })
  default  = {}
  nullable = false
}
