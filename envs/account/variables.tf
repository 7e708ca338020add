variable "region" {
  description = "AWS region, such as us-east-1. The logging role is set once for each region."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region takes the code of an AWS region, such as us-east-1 or ap-northeast-1."
  }
}

variable "create_monitor" {
  description = "Whether to make the account's SERVICE anomaly monitor. Accounts opened since 2023 have one: `aws ce get-anomaly-monitors` shows it, and its ARN goes into cost.monitor_arn of a stack."
  type        = bool
  default     = false
  nullable    = false
}
