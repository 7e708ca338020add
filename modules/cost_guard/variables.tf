variable "name" {
  description = "Name of the stack, and prefix of what is made here."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen."
  }
}

variable "location" {
  description = "Where the topic lives. ARNs are composed from it, so that the plan shows policies in full."
  type = object({
    partition  = string
    region     = string
    account_id = string
  })
  nullable = false
}

variable "emails" {
  description = "Who is told about money: up to 10 addresses. Each gets a mail from AWS with a link to confirm, without which the topic sends nothing there; budget notifications need no confirmation."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for email in var.emails : can(regex("^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$", email))])
    error_message = "emails takes addresses such as finance@example.com. Not one: ${join(", ", [for email in var.emails : email if !can(regex("^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$", email))])}."
  }

  validation {
    condition     = length(var.emails) <= 10
    error_message = "emails takes up to 10 addresses: a budget notification can't have more. Give the address of a mailing list."
  }
}

variable "budget" {
  description = "Monthly budget in US dollars, and the percentages of it at which finance is told: of what was spent, and of what AWS forecasts for the month (which needs about 5 weeks of history)."
  type = object({
    monthly_usd      = optional(number, 10)
    actual_percent   = optional(list(number), [50, 80, 100])
    forecast_percent = optional(list(number), [100])
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.budget.monthly_usd > 0
    error_message = "budget.monthly_usd must be above 0 US dollars a month."
  }

  validation {
    condition     = alltrue([for percent in concat(var.budget.actual_percent, var.budget.forecast_percent) : percent > 0 && percent <= 1000])
    error_message = "budget.actual_percent and budget.forecast_percent take percentages above 0 and up to 1000 of the monthly budget."
  }

  validation {
    condition     = length(var.budget.actual_percent) >= 1 && length(concat(var.budget.actual_percent, var.budget.forecast_percent)) <= 10
    error_message = "budget takes at least one actual threshold, and up to 10 thresholds in all: AWS allows no more for one budget."
  }
}

variable "anomaly" {
  description = "Cost Anomaly Detection: from how many US dollars of impact on finance is told, and which monitor watches. There is one SERVICE monitor per account (envs/account makes it): give its ARN. Null makes a monitor of this stack's own, by its tag."
  type = object({
    impact_usd  = optional(number, 5)
    monitor_arn = optional(string)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.anomaly.impact_usd > 0
    error_message = "anomaly.impact_usd must be above 0 US dollars."
  }

  validation {
    condition     = var.anomaly.monitor_arn == null ? true : can(regex("^arn:[a-z-]+:ce::[0-9]{12}:anomalymonitor/.+$", var.anomaly.monitor_arn))
    error_message = "anomaly.monitor_arn takes the ARN of a monitor: arn:aws:ce::ACCOUNT:anomalymonitor/ID. `terraform output` in envs/account shows it."
  }
}

variable "tag" {
  description = "The cost allocation tag by which this stack's spending is told from the rest of the account's. It must be activated once, under Billing, Cost allocation tags."
  type = object({
    key   = string
    value = string
  })
  nullable = false
}

variable "prices" {
  description = "What things cost: the path of the table that `sekisho cost` reads too, and prices to use instead of its own, in US dollars by the table's names and per the table's amounts, such as { apigateway_rest_request = 4.25 } for a million requests."
  type = object({
    table = string
    usd   = optional(map(number), {})
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

variable "stack" {
  description = "What spends: the API with its ceilings (rate_per_second and burst of each method, -1 for none; methods: how many there are), the functions with what bounds them (started_by: authorizer, api, proxy for one that calls the API again, log for one that failed calls start, or message; methods: by how many methods of the API, each start counted), the tables with their ceilings (null for none), and the concurrency that the account has left for functions that reserve none."
  type = object({
    api = object({
      name            = string
      stage           = string
      methods         = number
      rate_per_second = number
      burst           = number
    })
    functions = map(object({
      name                 = string
      started_by           = string
      methods              = optional(number, 0)
      memory_mb            = number
      timeout_seconds      = number
      architecture         = optional(string, "arm64")
      reserved_concurrency = optional(number, -1)
    }))
    tables = map(object({
      name = string
      max_units_per_second = optional(object({
        read  = optional(number)
        write = optional(number)
      }), {})
    }))
    unreserved_concurrency = number
  })
  nullable = false

  validation {
    condition     = alltrue([for f in values(var.stack.functions) : contains(["authorizer", "api", "proxy", "log", "message"], f.started_by)])
    error_message = "stack.functions.<name>.started_by is authorizer, api, proxy, log or message."
  }

  validation {
    condition     = anytrue([for f in values(var.stack.functions) : f.started_by == "api"]) && length(var.stack.tables) > 0
    error_message = "stack takes at least one function that the API starts, and one table."
  }
}

variable "live" {
  description = "The live alarm: from how many US dollars per hour on (null: what would use up the monthly budget in 72 hours, a weekend that nobody watches), in how many (datapoints) of how many (of) minutes."
  type = object({
    usd_per_hour = optional(number)
    datapoints   = optional(number, 3)
    of           = optional(number, 5)
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.live.usd_per_hour == null ? true : var.live.usd_per_hour > 0
    error_message = "live.usd_per_hour must be above 0 US dollars an hour, or null for the monthly budget divided by 72 hours."
  }

  validation {
    condition     = var.live.datapoints >= 1 && var.live.datapoints <= var.live.of && var.live.of <= 60 && floor(var.live.datapoints) == var.live.datapoints && floor(var.live.of) == var.live.of
    error_message = "live.datapoints and live.of take whole minutes, datapoints from 1 to of, and of up to 60."
  }
}

variable "brake" {
  description = "The brake: zip and runtime of its function, ID of the API whose stage it switches, table that it remembers in, names of the functions that it stops, from which percentage of the monthly budget spent on, and how many days its log is kept."
  type = object({
    zip = string
    runtime = optional(object({
      memory_mb       = optional(number, 128)
      timeout_seconds = optional(number, 60)
      architecture    = optional(string, "arm64")
      tracing         = optional(bool, false)
    }), {})
    api_id             = string
    accounts_table     = string
    functions          = list(string)
    percent            = optional(number, 100)
    log_retention_days = optional(number, 30)
  })
  nullable = false

  validation {
    condition     = length(var.brake.functions) > 0
    error_message = "brake.functions takes at least one function: a brake that stops nothing is none."
  }

  validation {
    condition     = length(setintersection(var.brake.functions, [for role in ["authorizer", "account", "settle", "brake"] : "${var.name}-${role}"])) == 0
    error_message = "brake.functions may not name ${join(", ", setintersection(var.brake.functions, [for role in ["authorizer", "account", "settle", "brake"] : "${var.name}-${role}"]))}: without the authorizer and account nobody sees why, without settle failed calls stay charged, and without the brake nobody is told. Take it off the list."
  }

  validation {
    condition     = anytrue([for percent in var.budget.actual_percent : percent >= var.brake.percent])
    error_message = "brake.percent is ${var.brake.percent}, above every one of budget.actual_percent (${join(", ", var.budget.actual_percent)}): no message would put the brake on. Add ${var.brake.percent} to budget.actual_percent, or lower brake.percent."
  }
}
