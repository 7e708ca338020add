output "mcp_url" {
  description = "Address for MCP clients."
  value       = "${local.elsewhere == null ? module.api.url : module.door[0].url}/mcp"
}

output "api_url" {
  description = "Base address of the REST API; in a browser, the page for key holders."
  value       = module.api.url
}

output "domain_target" {
  description = "What the DNS record of your own domain must point to; null without one."
  value       = module.api.domain_target
}

output "door" {
  description = "What /mcp is reached by: kind (rest, http or url), and of an HTTP API its routes and the ceiling on each: rate_per_second and burst."
  value       = local.door
}

output "door_target" {
  description = "What the DNS record of mcp.domain must point to; null without one."
  value       = one(module.door[*].domain_target)
}

output "oauth_url" {
  description = "Address for MCP clients that sign in by OAuth; null while oauth is off."
  value       = one([for door in module.oauth_door : "${door.url}/mcp"])
}

output "oauth_target" {
  description = "What the DNS record of oauth.domain must point to; null without one."
  value       = one(module.oauth_door[*].domain_target)
}

output "tables" {
  description = "Names of the DynamoDB tables, by role. `sekisho keys` takes them."
  value       = module.usage.names
}

output "create_a_key" {
  description = "The command that creates a key for a user."
  value       = "sekisho keys create --accounts-table ${module.usage.names.accounts} --usage-table ${module.usage.names.usage} --plans '${local.definitions.authorizer.environment.SEKISHO_PLANS}' --user NAME --plan PLAN"
}

output "access_log_group" {
  description = "Name of the access log's group. `sekisho usage export` takes it."
  value       = module.api.access_log_group
}

output "denials_log_groups" {
  description = "Names of the log groups that denied calls are in, separated by commas: the access log's, and that of mcp where it dispatches calls itself. `sekisho usage export` takes them."
  value       = join(",", concat([module.api.access_log_group], local.direct ? [local.dispatch_log] : []))
}

output "topic_arn" {
  description = "ARN of the topic that carries everything about money."
  value       = module.alerts.topic_arn
}

output "usage_topic_arn" {
  description = "ARN of the topic that says which key is about to use up its plan. Nothing else is sent there, and it never brakes."
  value       = module.alerts.usage_topic_arn
}

output "operations_topic_arn" {
  description = "ARN of the topic that carries what somebody on call can mend."
  value       = module.alerts.operations_topic_arn
}

output "dashboard_name" {
  description = "Name of the CloudWatch dashboard."
  value       = module.observability.dashboard_name
}

output "sizing" {
  description = "Suggested reservation of each function with declared traffic: concurrency is requests per second times seconds, and two standard deviations more."
  value       = { for name, function in module.function : name => function.sizing if function.sizing != null }
}

output "concurrency" {
  description = "The account's quota of concurrent executions, what this stack reserves of it, and what it leaves to everything else."
  value = {
    quota      = local.quota
    reserved   = local.reserved
    unreserved = local.quota - local.reserved
  }

  precondition {
    condition     = local.reserved <= local.can_be_reserved
    error_message = "The functions reserve ${local.reserved} concurrent executions (${join(", ", [for name, n in local.reservations : "${name} ${n}"])}), but the quota of this account (Service Quotas ${local.quota_code}, Lambda concurrent executions) is ${local.quota}, and Lambda keeps ${local.must_stay_free} of it unreserved: at most ${local.can_be_reserved} can be reserved. Request a higher quota for ${local.quota_code} (Service Quotas, AWS Lambda; free, takes hours to days), or lower functions.<name>.reserved_concurrency; -1 reserves nothing."
  }

  precondition {
    condition     = length(local.misspelt) == 0
    error_message = "There is no such setting: ${join(", ", local.misspelt)}. See variables.tf of the stack for what there is, and for the spelling."
  }
}

output "worst_case_usd_per_hour" {
  description = "The most that an hour can cost, computed from the ceilings: usd, or null and in unbounded what to set. `sekisho worst-case` shows the arithmetic."
  value       = module.worst_case.usd_per_hour
}

output "worst_case_usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it: the worst hour times the live alarm's delay."
  value       = module.worst_case.usd_before_brake
}

output "worst_case_usd_while_braked" {
  description = "The most that an hour can cost while the brake is on."
  value       = module.worst_case.usd_while_braked
}

output "ceilings" {
  description = "What bounds an hour's cost, for `sekisho worst-case` to read from a plan, a state or the outputs."
  value       = local.ceilings
}

output "live_alarm" {
  description = "The alarms on dollars per hour: their names, the usd_per_hour at which they trip, and delay_seconds until everything is stopped."
  value = {
    names         = module.spend_alarm.names
    usd_per_hour  = module.spend_alarm.trip.usd_per_hour
    delay_seconds = module.spend_alarm.trip.delay_seconds
  }
}

output "brake" {
  description = "The command that releases the brake; with status in the place of off it shows how it stands."
  value       = module.brake.release
}

output "applied" {
  description = "What was applied, for tests and for the laptop's gateway (`sekisho up --applied`): the API's description, stage, stage variables, access-log format and throttle as API Gateway has them, and what each function runs with."
  value = {
    api_id            = module.api.id
    stage             = module.api.stage
    body              = module.api.body
    stage_variables   = module.api.stage_variables
    access_log_format = module.api.access_log_format
    throttle          = module.api.throttle
    door              = local.door
    functions         = { for name, function in merge(module.function, { brake = module.brake }) : name => merge(function.applied, { name = function.name }) }
  }
}
