variable "name" {
  description = "Name of the stack, and prefix of what is made here."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "prices" {
  description = <<-EOT
    What things cost.
      - region: whose prices count.
      - table: path of the table of prices that `sekisho cost` reads too.
      - usd: US dollars to use instead of the table's, by its names and per its amounts, such as { apigateway_rest_request = 4.25 } for a million requests.
  EOT
  type = object({
    region = string
    table  = string
    usd    = optional(map(number), {})
  })
  nullable = false

  validation {
    condition     = fileexists(var.prices.table) && can(jsondecode(file(var.prices.table)).prices)
    error_message = "prices.table takes the path of a table of prices in JSON; this repository's is functions/internal/money/price/prices.json."
  }

  validation {
    condition     = length(setsubtract(keys(var.prices.usd), try(keys(jsondecode(file(var.prices.table)).prices), []))) == 0 && alltrue([for usd in values(var.prices.usd) : usd >= 0])
    error_message = "prices.usd takes US dollars of 0 or more, by names of the table: ${join(", ", try(keys(jsondecode(file(var.prices.table)).prices), []))}."
  }
}

variable "trip" {
  description = <<-EOT
    When the alarm trips.
      - usd_per_hour: above how many US dollars an hour.
      - datapoints, of: in how many minutes, of how many.
  EOT
  type = object({
    usd_per_hour = number
    datapoints   = optional(number, 3)
    of           = optional(number, 5)
  })
  nullable = false

  validation {
    condition     = var.trip.usd_per_hour > 0
    error_message = "trip.usd_per_hour must be above 0 US dollars an hour."
  }

  validation {
    condition     = var.trip.datapoints >= 1 && var.trip.datapoints <= var.trip.of && var.trip.of <= 60 && floor(var.trip.datapoints) == var.trip.datapoints && floor(var.trip.of) == var.trip.of
    error_message = "trip.datapoints and trip.of take whole minutes, datapoints from 1 to of, and of up to 60."
  }
}

variable "topic_arns" {
  description = "SNS topics that the alarm notifies."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "api" {
  description = "The API's name and stage, which its metrics are filed under."
  type = object({
    name  = string
    stage = string
  })
  nullable = false
}

variable "door" {
  description = <<-EOT
    What mcp is reached by.
      - kind: rest for the API above, http for an HTTP API, url for a function URL.
      - api_id: that of the HTTP API, which its metrics are filed under.
      - dispatch: how mcp gets calls to their functions: proxy (through the API) or direct (it invokes them while it waits).
      - oauth: whether there is an OAuth door beside it, and oauth_api_id, that of its HTTP API.
  EOT
  type = object({
    kind         = string
    api_id       = optional(string)
    dispatch     = optional(string, "proxy")
    oauth        = optional(bool, false)
    oauth_api_id = optional(string)
  })
  default  = { kind = "rest" }
  nullable = false

  validation {
    condition     = contains(["rest", "http", "url"], var.door.kind)
    error_message = "door.kind is rest, http or url."
  }

  validation {
    condition     = contains(["proxy", "direct"], var.door.dispatch)
    error_message = "door.dispatch is proxy or direct."
  }

  validation {
    condition     = var.door.kind == "rest" || anytrue([for f in values(var.functions) : f.started_by == "proxy"])
    error_message = "A door leads to a function that is started by proxy, and functions has none."
  }
}

variable "functions" {
  description = <<-EOT
    The functions that calls can start, by role such as mcp.
      - name: the function's name in AWS.
      - started_by: authorizer (by the gateway, before a route), api (by a route), proxy (by a route, and calls the API again), oauth (by a route of the OAuth door) or log (by records of failed calls).
      - memory_mb, architecture: what a second of it is billed by.
  EOT
  type = map(object({
    name         = string
    started_by   = string
    memory_mb    = number
    architecture = optional(string, "arm64")
  }))
  nullable = false

  validation {
    condition     = alltrue([for f in values(var.functions) : contains(["authorizer", "api", "proxy", "oauth", "log"], f.started_by)])
    error_message = "functions.<role>.started_by is authorizer, api, proxy, oauth or log."
  }

  validation {
    condition     = anytrue([for f in values(var.functions) : f.started_by == "api"])
    error_message = "functions takes at least one that a route starts (started_by = \"api\")."
  }
}

variable "tables" {
  description = "Names of the DynamoDB tables that calls read and write, by role."
  type        = map(string)
  nullable    = false

  validation {
    condition     = length(var.tables) > 0
    error_message = "tables takes at least one table."
  }
}

variable "tags" {
  description = "Tags of every resource."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "playbooks" {
  description = "Address or path of the directory with the playbooks that alarms link to."
  type        = string
  default     = "modules/observability/playbooks"
  nullable    = false
}
