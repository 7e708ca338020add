variable "region" {
  description = "AWS region, such as us-east-1. The logging role is set once for each region."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region takes the code of an AWS region, such as us-east-1 or ap-northeast-1."
  }
}

variable "existing_monitor_arn" {
  description = "ARN of the account's SERVICE anomaly monitor, where it has one: `aws ce get-anomaly-monitors` lists them. Null makes one."
  type        = string
  default     = null

  validation {
    condition     = var.existing_monitor_arn == null ? true : can(regex("^arn:[a-z-]+:ce::[0-9]{12}:anomalymonitor/.+$", var.existing_monitor_arn))
    error_message = "existing_monitor_arn takes the ARN of a monitor: arn:aws:ce::ACCOUNT:anomalymonitor/ID."
  }
}
