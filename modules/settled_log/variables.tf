variable "log_group" {
  description = "Name of the log group."
  type        = string
  nullable    = false
}

variable "filter_pattern" {
  description = "Which of its lines settle gets: the contract's x-sekisho-dispatch-filter for the log of mcp."
  type        = string
  nullable    = false
}

variable "settle" {
  description = <<-EOT
    Who gets them.
      - function_name: name of the function settle.
      - alias: by which it is called.
  EOT
  type = object({
    function_name = string
    alias         = optional(string, "live")
  })
  nullable = false
}

variable "location" {
  description = "Where the function and the log live: partition, region and account_id. ARNs are composed from them, so that the plan shows them in full."
  type = object({
    partition  = string
    region     = string
    account_id = string
  })
  nullable = false
}
