# The stack, with what terraform.tfvars says. This file is the same in dev and prod: edit that
# of dev, and `go test ./tests/terraform -run TestEnvironments -update` copies it.
#
# Types, defaults and checks of the settings are in ../../variables.tf. Here they are of any type,
# so that a misspelt attribute reaches that file, which refuses it: a type would drop it silently.
# Null takes the default.
#
# In a repository of your own, copy this directory and let source name a release of this one.

module "sekisho" {
  source = "../.."

  name              = var.name
  dist              = var.dist
  plans             = var.plans
  settings          = var.settings
  upstream          = var.upstream
  functions         = var.functions
  api               = var.api
  tables            = var.tables
  observability     = var.observability
  cost              = var.cost
  concurrency_quota = var.concurrency_quota

  as_written = {
    plans         = var.plans
    settings      = var.settings
    upstream      = var.upstream
    functions     = var.functions
    api           = var.api
    tables        = var.tables
    observability = var.observability
    cost          = var.cost
  }
}

variable "region" {
  description = "AWS region, such as us-east-1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region takes the code of an AWS region, such as us-east-1 or ap-northeast-1."
  }
}

variable "name" {
  description = "Name of the stack."
  type        = string
}

variable "dist" {
  description = "Directory with the functions' zips."
  type        = string
  default     = "../../dist"
}

variable "plans" {
  description = "Monthly limit per key, by plan."
  type        = any
  default     = null
}

variable "settings" {
  description = "How the stack behaves."
  type        = any
  default     = null
}

variable "upstream" {
  description = "What the tools external.* call, and how often."
  type        = any
  default     = null
}

variable "functions" {
  description = "What is to differ for a function, by its name."
  type        = any
  default     = null
}

variable "api" {
  description = "Stage, throttle and domain of the gateway."
  type        = any
  default     = null
}

variable "tables" {
  description = "Protection and ceilings of the tables."
  type        = any
  default     = null
}

variable "observability" {
  description = "Logs, traces and alarms."
  type        = any
  default     = null
}

variable "cost" {
  description = "Budget, anomalies, and who hears of them."
  type        = any
  default     = null
}

variable "concurrency_quota" {
  description = "The account's quota of concurrent executions; null asks Service Quotas."
  type        = number
  default     = null
}

output "mcp_url" {
  description = "Address for MCP clients."
  value       = module.sekisho.mcp_url
}

output "api_url" {
  description = "Base address of the REST API."
  value       = module.sekisho.api_url
}

output "sizing" {
  description = "Suggested reservations, from the declared traffic."
  value       = module.sekisho.sizing
}

output "worst_case_usd_per_hour" {
  description = "The most that an hour can cost, from the ceilings, with the arithmetic of each part."
  value       = module.sekisho.worst_case_usd_per_hour
}

output "worst_case_usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it."
  value       = module.sekisho.worst_case_usd_before_brake
}

output "brake" {
  description = "The command that releases the brake; `brake status` shows how it stands."
  value       = module.sekisho.brake
}

output "stack" {
  description = "Everything else that the stack has to tell."
  value       = module.sekisho
}
