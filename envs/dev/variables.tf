# Types, defaults and checks of the settings are in ../../variables.tf. Here they are of any type,
# so that a misspelt attribute reaches that file, which refuses it: a type would drop it silently.
# Null takes the default.

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
  description = "What each plan allows a key."
  type        = any
  default     = null
}

variable "alerts" {
  description = "Who hears when a key is about to use up its plan."
  type        = any
  default     = null
}

variable "settings" {
  description = "How the stack behaves."
  type        = any
  default     = null
}

variable "mcp" {
  description = "How MCP is served: dispatch, how a call gets to its function, and door, what stands before mcp."
  type        = any
  default     = null
}

variable "oauth" {
  description = "A second door, where people sign in by OAuth with their key."
  type        = any
  default     = null
}

variable "backends" {
  description = "The services behind the operations of the contract, by the names that it gives them."
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

variable "account" {
  description = "What the account asks of everything in it: boundary and path of roles, key, network."
  type        = any
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = { managed-by = "terraform" }
}

variable "concurrency_quota" {
  description = "The account's quota of concurrent executions; null asks Service Quotas."
  type        = number
  default     = null
}
