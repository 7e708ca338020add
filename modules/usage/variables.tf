variable "name" {
  description = "Name of the stack; the tables are called <name>-accounts and <name>-usage."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "protection" {
  description = <<-EOT
    What keeps the data from being lost.
      - deletion_protection: refuses to destroy the tables.
      - point_in_time_recovery: keeps 35 days of backups, billed by size.
  EOT
  type = object({
    deletion_protection    = optional(bool, true)
    point_in_time_recovery = optional(bool, true)
  })
  default  = {}
  nullable = false
}

variable "max_units_per_second" {
  description = <<-EOT
    Ceiling on what each table may consume on demand. Above it calls are refused with 503, never admitted uncounted.
      - read, write: request units per second; null for AWS's own ceiling.
  EOT
  type = object({
    read  = optional(number)
    write = optional(number)
  })
  default  = {}
  nullable = false

  validation {
    condition = alltrue([
      for units in [var.max_units_per_second.read, var.max_units_per_second.write] :
      units == null ? true : units >= 1 && floor(units) == units
    ])
    error_message = "max_units_per_second takes whole numbers of at least 1 for read and write, or null for no ceiling."
  }
}

variable "kms_key_arn" {
  description = "A KMS key of your own for the tables; null for the one that AWS keeps for DynamoDB. Whoever calls the tables needs kms:Decrypt on it."
  type        = string
  default     = null
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}
