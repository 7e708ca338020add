variable "name" {
  description = "Name of the stack, unique in the account: everything is called <name>-something, and costs are told apart by it."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,30}[a-z0-9]$", var.name))
    error_message = "name takes 3 to 32 lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen: roles are called after it and a function, and a role's name has no more than 64."
  }
}

variable "dist" {
  description = "Directory with the functions' zips, one <function>.zip each, as `make build` leaves them."
  type        = string
  default     = "dist"
  nullable    = false
}

variable "plans" {
  description = <<-EOT
    The plans by name, and what each allows a key. Every part is optional, and {} has no limit. Older versions took a number, the monthly limit: instead of free = 1000 write free = { monthly = 1000 }, and instead of null {}.
      - monthly, daily: units per calendar month and per day (UTC). A call takes one, unless the contract says more.
      - per_second: calls per second in the long run.
      - burst: calls at once, with per_second only; by default as many as per_second allows in a second.
  EOT
  type = map(object({
    monthly    = optional(number)
    daily      = optional(number)
    per_second = optional(number)
    burst      = optional(number)
  }))
  default = {
    free    = { monthly = 1000 }
    starter = { monthly = 10000 }
    pro     = { monthly = 100000 }
  }
  nullable = false

  validation {
    condition     = length(var.plans) > 0
    error_message = "plans takes at least one plan, such as free = { monthly = 1000, daily = 200, per_second = 2, burst = 10 }."
  }

  validation {
    condition     = alltrue([for name in keys(var.plans) : can(regex(local.plan_bounds.name, name))])
    error_message = "plans takes names of 1 to 32 lower-case letters, digits, hyphens and underscores, beginning with a letter. Not so: ${join(", ", [for name in keys(var.plans) : jsonencode(name) if !can(regex(local.plan_bounds.name, name))])}."
  }

  validation {
    condition = alltrue(flatten([for plan in values(var.plans) : [
      for units in [plan.monthly, plan.daily] : units == null ? true : units >= 0 && units <= local.plan_bounds.most_units && floor(units) == units
    ] if plan != null]))
    error_message = "plans.<name>.monthly and plans.<name>.daily take whole units from 0 to ${local.plan_bounds.most_units}; leave them out for no limit. Not so: ${join(", ", flatten([for name, plan in var.plans : [
      for part in ["monthly", "daily"] : "${name}.${part} = ${plan[part]}"
      if plan[part] == null ? false : plan[part] < 0 || plan[part] > local.plan_bounds.most_units || floor(plan[part]) != plan[part]
    ] if plan != null]))}."
  }

  validation {
    condition = alltrue([
      for plan in values(var.plans) : plan.per_second == null ? true : plan.per_second >= local.plan_bounds.least_per_second && plan.per_second <= local.plan_bounds.most_per_second
      if plan != null
    ])
    error_message = "plans.<name>.per_second takes calls per second from ${local.plan_bounds.least_per_second} to ${local.plan_bounds.most_per_second}; leave it out for any rate. Not so: ${join(", ", [
      for name, plan in var.plans : "${name}.per_second = ${plan.per_second}"
      if plan == null ? false : plan.per_second == null ? false : plan.per_second < local.plan_bounds.least_per_second || plan.per_second > local.plan_bounds.most_per_second
    ])}."
  }

  validation {
    condition = alltrue([
      for plan in values(var.plans) : plan.burst == null ? true : plan.per_second != null && plan.burst >= 1 && plan.burst <= local.plan_bounds.most_burst && floor(plan.burst) == plan.burst
      if plan != null
    ])
    error_message = "plans.<name>.burst takes whole calls from 1 to ${local.plan_bounds.most_burst}, and goes with per_second. Not so: ${join(", ", [
      for name, plan in var.plans : "${name}.burst = ${plan.burst}"
      if plan == null ? false : plan.burst == null ? false : plan.per_second == null || plan.burst < 1 || plan.burst > local.plan_bounds.most_burst || floor(plan.burst) != plan.burst
    ])}."
  }
}

variable "alerts" {
  description = <<-EOT
    Who hears when a key is about to use up its plan.
      - usage_percent: the percentages of a plan's monthly limit at which they hear of it, once a key and month; [] for none.
      - subscriptions: protocol (email, https or sqs) and endpoint (address, URL or the queue's ARN) of each; modules/alerts says what each of them needs.
  EOT
  type = object({
    usage_percent = optional(list(number), [80, 100])
    subscriptions = optional(list(object({
      protocol = string
      endpoint = string
    })), [])
  })
  default  = {}
  nullable = false

  validation {
    condition = length(var.alerts.usage_percent) <= 5 && alltrue([
      for i, percent in var.alerts.usage_percent : percent > max(0, slice(var.alerts.usage_percent, 0, i)...) && percent <= 100 && floor(percent) == percent
    ])
    error_message = "alerts.usage_percent takes up to 5 whole percentages from 1 to 100, in ascending order and each once, such as [80, 100]; not [${join(", ", var.alerts.usage_percent)}]."
  }
}

variable "settings" {
  description = <<-EOT
    How the stack behaves.
      - upgrade_url: an agent whose limit is used up is given this address.
      - key_cache_seconds: the longest that a revoked key lives on.
      - denial_memory_seconds: how long an instance remembers a used-up key.
      - allowed_origins: web pages that may call /mcp from a browser.
      - tool_names: how tools are listed over MCP: underscore (calendar_holidays) or canonical (calendar.holidays), which some clients refuse.
      - listing: which tools a list over MCP names: all, search (a few, with which the others are found) or auto (all, unless they would take more of a model's tokens than listing_budget).
      - listing_budget: tokens, as `sekisho tools` estimates them; null for 10,000.
      - log_level: debug, info, warn or error.
  EOT
  type = object({
    upgrade_url           = optional(string, "")
    key_cache_seconds     = optional(number, 30)
    denial_memory_seconds = optional(number, 3)
    allowed_origins       = optional(list(string), [])
    tool_names            = optional(string, "underscore")
    listing               = optional(string, "auto")
    listing_budget        = optional(number)
    log_level             = optional(string, "info")
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.settings.upgrade_url == "" || can(regex("^https://[A-Za-z0-9._~:/?#@!$&()*+,;=%-]+$", var.settings.upgrade_url))
    error_message = "settings.upgrade_url takes an https:// address without spaces or quotes: it is put into answers as it stands."
  }

  validation {
    condition = alltrue([
      for seconds in [var.settings.key_cache_seconds, var.settings.denial_memory_seconds] :
      seconds >= 0 && seconds <= 300 && floor(seconds) == seconds
    ])
    error_message = "settings.key_cache_seconds and settings.denial_memory_seconds take whole seconds from 0 to 300."
  }

  validation {
    condition     = alltrue([for origin in var.settings.allowed_origins : can(regex("^https?://[^/,\\s]+$", origin))])
    error_message = "settings.allowed_origins takes origins such as https://app.example.com: scheme and host, no path, no comma."
  }

  validation {
    condition     = contains(["underscore", "canonical"], var.settings.tool_names)
    error_message = "settings.tool_names is underscore or canonical."
  }

  validation {
    condition     = contains(["auto", "all", "search"], var.settings.listing)
    error_message = "settings.listing is auto, all or search."
  }

  validation {
    condition     = var.settings.listing_budget == null ? true : var.settings.listing_budget >= 1 && floor(var.settings.listing_budget) == var.settings.listing_budget
    error_message = "settings.listing_budget takes a whole number of tokens, 1 or more, or null."
  }

  validation {
    condition     = contains(["debug", "info", "warn", "error"], var.settings.log_level)
    error_message = "settings.log_level is debug, info, warn or error."
  }
}

variable "mcp" {
  description = <<-EOT
    How MCP is served.
      - dispatch: how a tool call gets to its function. proxy, the default: mcp calls the REST API with the caller's key, and holds no right but to read keys. direct: mcp counts the call by itself and invokes the function, which costs one request of the gateway and one function less; it may then invoke every function that serves tools, and write to the usage table.
      - door: what /mcp is reached by. rest, the default: the REST API. http: an HTTP API, for less than a third of the price of a request, at the root of an address of its own. url: a function URL, without a price of its own, which sends progress as it happens; nothing but the reservation of mcp bounds it, so functions.mcp.reserved_concurrency must be set. With http and url the REST API has no /mcp.
      - streaming: with the door rest, whether progress is sent as it happens; a call may then take up to functions.mcp.timeout_seconds.
      - domain: of the door http: a host name of your own, its certificate, and whether the execute-api address is switched off.
  EOT
  type = object({
    dispatch  = optional(string, "proxy")
    door      = optional(string, "rest")
    streaming = optional(bool, false)
    domain = optional(object({
      name                    = string
      certificate_arn         = string
      disable_default_address = optional(bool, true)
    }))
  })
  default  = {}
  nullable = false

  validation {
    condition     = contains(["proxy", "direct"], var.mcp.dispatch)
    error_message = "mcp.dispatch is proxy (through the REST API) or direct (mcp invokes functions by itself)."
  }

  validation {
    condition     = contains(["rest", "http", "url"], var.mcp.door)
    error_message = "mcp.door is rest (the REST API), http (an HTTP API) or url (a function URL)."
  }

  validation {
    condition     = var.mcp.door != "url" || var.mcp.dispatch == "direct"
    error_message = "Through a function URL mcp can't learn where the REST API is, which it calls with mcp.dispatch = \"proxy\": set mcp.dispatch = \"direct\", or mcp.door = \"http\"."
  }

  validation {
    condition     = !var.mcp.streaming || var.mcp.door == "rest"
    error_message = "mcp.streaming is for the door rest: an HTTP API can't stream, and a function URL always does."
  }

  validation {
    condition     = var.mcp.domain == null || var.mcp.door == "http"
    error_message = "mcp.domain is for the door http: the REST API's is api.domain, and a function URL takes none."
  }
}

variable "oauth" {
  description = <<-EOT
    A second door for hosts that take no key: people sign in once with their key, by OAuth 2.1. It has an address of its own, and needs mcp.dispatch = "direct".
      - enabled: whether there is one.
      - domain: a host name of your own for it, its certificate, and whether the execute-api address is switched off.
      - clients: registered beforehand, by client ID: name, and redirect_uris, one of which a client must name exactly.
      - client_hosts: hosts whose client ID metadata documents are taken; [] for any.
      - redirect_hosts: hosts that a client may register redirects to by itself, localhost and apps' schemes (cursor:) among them; [] for any.
      - registration: whether clients may register by themselves.
      - access_minutes, grant_days: how long an access token lives, and how long after the sign-in a grant ends.
      - issuer: a company's own authorization server, whose tokens are taken instead; then none of clients, client_hosts and redirect_hosts. Or null.
      - audience: what its tokens must have as aud; several are separated by commas.
      - scope: what they must have as scope; null for none.
      - new_user_plan: the plan of a user whom a token names for the first time; null refuses those.
      - own_metadata: whether this door publishes the issuer's metadata, for one that lacks code_challenge_methods_supported, as Cognito's does.
  EOT
  type = object({
    enabled = optional(bool, false)
    domain = optional(object({
      name                    = string
      certificate_arn         = string
      disable_default_address = optional(bool, true)
    }))
    clients = optional(map(object({
      name          = string
      redirect_uris = list(string)
    })), {})
    client_hosts   = optional(list(string), [])
    redirect_hosts = optional(list(string), [])
    registration   = optional(bool, true)
    access_minutes = optional(number, 60)
    grant_days     = optional(number, 90)
    issuer         = optional(string)
    audience       = optional(string)
    scope          = optional(string)
    new_user_plan  = optional(string)
    own_metadata   = optional(bool, false)
  })
  default  = {}
  nullable = false

  validation {
    condition     = !var.oauth.enabled || var.mcp.dispatch == "direct"
    error_message = "oauth.enabled needs mcp.dispatch = \"direct\": a token is no key, so mcp could send nothing on to the REST API."
  }

  validation {
    condition     = !var.oauth.enabled || !(var.mcp.streaming || var.mcp.door == "url")
    error_message = "oauth.enabled needs mcp.door = \"http\", or \"rest\" without mcp.streaming: the OAuth door is an HTTP API, which can't read what mcp streams."
  }

  validation {
    condition     = var.oauth.domain == null ? true : !contains([for d in [var.mcp.domain, var.api.domain] : d.name if d != null], var.oauth.domain.name)
    error_message = "oauth.domain.name is the domain of another door: take a host name of its own, since clients that find OAuth at a host stop sending keys to it."
  }

  validation {
    condition = alltrue([for id, client in var.oauth.clients :
      can(regex("^[!-~]{1,128}$", id)) && !startswith(id, "https:") && !startswith(id, "dyn.") && can(regex("^[^[:cntrl:]]{1,64}$", client.name)) && length(client.redirect_uris) > 0
    ])
    error_message = "oauth.clients takes IDs of 1 to 128 printable characters that begin neither with https: nor with dyn., and of each a name of up to 64 characters and at least one of redirect_uris."
  }

  # The function knows which schemes are an app's.
  validation {
    condition     = alltrue([for uri in flatten(values(var.oauth.clients)[*].redirect_uris) : can(regex(local.redirects.any, uri)) && (!can(regex(local.redirects.plain, uri)) || can(regex(local.redirects.loopback, uri)))])
    error_message = "oauth.clients.<id>.redirect_uris takes https:// addresses, http:// ones of 127.0.0.1, localhost and [::1], and an app's scheme such as com.example.app:/callback, without a fragment. Not so: ${join(", ", [for uri in flatten(values(var.oauth.clients)[*].redirect_uris) : uri if !(can(regex(local.redirects.any, uri)) && (!can(regex(local.redirects.plain, uri)) || can(regex(local.redirects.loopback, uri))))])}."
  }

  validation {
    condition     = length(jsonencode(var.oauth.clients)) + length(join(",", var.oauth.client_hosts)) + length(join(",", var.oauth.redirect_hosts)) <= 3000
    error_message = "oauth.clients, client_hosts and redirect_hosts take 3,000 bytes in all: they go into the function's environment, which holds 4 KB. Let clients publish a client ID metadata document instead."
  }

  validation {
    condition = alltrue(concat(
      [for host in var.oauth.client_hosts : can(regex(local.host_name, host))],
      [for host in var.oauth.redirect_hosts : can(regex(local.host_name, host)) || host == "localhost" || can(regex("^[a-z][a-z0-9+.-]*:$", host))],
    ))
    error_message = "oauth.client_hosts and oauth.redirect_hosts take host names such as chatgpt.com, without scheme, port, path and wildcard; redirect_hosts also localhost, and an app's scheme such as cursor: with its colon."
  }

  validation {
    condition = alltrue([
      var.oauth.access_minutes >= 1 && var.oauth.access_minutes <= 1440 && floor(var.oauth.access_minutes) == var.oauth.access_minutes,
      var.oauth.grant_days >= 1 && var.oauth.grant_days <= 3650 && floor(var.oauth.grant_days) == var.oauth.grant_days,
    ])
    error_message = "oauth.access_minutes takes whole minutes from 1 to 1440, and oauth.grant_days whole days from 1 to 3650."
  }

  validation {
    condition     = var.oauth.issuer == null ? true : can(regex("^https://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/-]*)?$", var.oauth.issuer)) && var.oauth.audience != null
    error_message = "oauth.issuer takes the https:// address that the tokens have as iss, without query and fragment, and oauth.audience beside it: without one, tokens made for another service would be taken."
  }

  validation {
    condition     = var.oauth.issuer != null || var.oauth.audience == null && var.oauth.scope == null && var.oauth.new_user_plan == null && !var.oauth.own_metadata
    error_message = "oauth.audience, scope, new_user_plan and own_metadata go with oauth.issuer: without it people sign in with a key, which has a user and a plan."
  }

  validation {
    condition     = var.oauth.issuer == null || length(var.oauth.clients) + length(var.oauth.client_hosts) + length(var.oauth.redirect_hosts) == 0
    error_message = "oauth.clients, client_hosts and redirect_hosts are for the stack's own authorization server: with oauth.issuer, register clients there."
  }
}

variable "backends" {
  description = <<-EOT
    The services that the contract's operations are passed on to, by their names in x-sekisho-backends; {} for one that is not configured yet, which says so to every caller.
      - url: the https:// address that the paths of its operations are below; null for the one in the contract. Or:
      - function_arn: a Lambda function that is invoked as API Gateway would.
      - auth: the credential that is sent: type bearer, header, basic or query; name of the header, the query parameter or the user; scheme before the value of a header; and where the secret is. Make it yourself, so that no plan and no state holds it: parameter, the name of a SecureString in SSM Parameter Store, or secret_arn in Secrets Manager, with kms_key_arn if the key is one of your own.
      - signing: where the key is that signs who calls (parameter, or secret_arn, and kms_key_arn); null tells the backend nothing of its callers.
      - timeout_seconds: of one attempt.
      - rate_per_second, burst: calls in the long run and at once, over all instances; null for no limit.
      - per_day: how many calls of an operation, by its operationId, may succeed in a UTC day.
      - max_answer_bytes: the largest answer that is read; null for the contract's.
      - private: whether url may lead to a private address, and vpc with subnet_ids and security_group_ids from which that is reached.
  EOT
  type = map(object({
    url          = optional(string)
    function_arn = optional(string)
    auth = optional(object({
      type        = string
      name        = optional(string)
      scheme      = optional(string)
      parameter   = optional(string)
      secret_arn  = optional(string)
      kms_key_arn = optional(string)
    }))
    signing = optional(object({
      parameter   = optional(string)
      secret_arn  = optional(string)
      kms_key_arn = optional(string)
    }))
    timeout_seconds  = optional(number)
    rate_per_second  = optional(number)
    burst            = optional(number)
    per_day          = optional(map(number))
    max_answer_bytes = optional(number)
    private          = optional(bool)
    vpc = optional(object({
      subnet_ids         = list(string)
      security_group_ids = list(string)
    }))
  }))
  default  = { external = {} } # of the default contract
  nullable = false

  validation {
    condition = alltrue([for backend in values(var.backends) :
      backend.url == null ? true : backend.function_arn == null && can(regex("^https?://[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~%/-]*)?$", backend.url)) && (startswith(backend.url, "https://") || backend.private == true)
    ])
    error_message = "backends.<name>.url takes an https:// address without credentials, query and fragment, since plans show it in clear text (http:// with private = true only), and no function_arn beside it. The credential goes into SSM Parameter Store or Secrets Manager, and its name into backends.<name>.auth."
  }

  validation {
    condition     = alltrue([for backend in values(var.backends) : backend.function_arn == null ? true : can(regex("^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)?$", backend.function_arn)) && backend.auth == null])
    error_message = "backends.<name>.function_arn takes the ARN of a function, such as arn:aws:lambda:us-east-1:123456789012:function:orders, with an alias or version if you like; it is invoked with the relay's own rights, so there is no auth beside it."
  }

  validation {
    condition = alltrue([for backend in values(var.backends) : backend.auth == null ? true : (
      contains(["bearer", "header", "basic", "query"], backend.auth.type) && (
        backend.auth.type == "bearer" ? backend.auth.name == null : backend.auth.type == "basic" || backend.auth.name != null
      ) && (backend.auth.scheme == null || backend.auth.type == "header")
    )])
    error_message = "backends.<name>.auth.type is bearer, header, basic or query; header and query need a name, of the header or the query parameter, and bearer takes none; a scheme goes with header only."
  }

  validation {
    condition = alltrue(flatten([for backend in values(var.backends) : [
      for secret in [backend.auth, backend.signing] : (secret.parameter == null) != (secret.secret_arn == null) if secret != null
    ]]))
    error_message = "backends.<name>.auth and backends.<name>.signing name one place each where the secret is: parameter or secret_arn."
  }

  validation {
    condition = alltrue(flatten([for backend in values(var.backends) : [
      for secret in [backend.auth, backend.signing] : [
        secret.parameter == null ? true : can(regex("^/?[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", secret.parameter)),
        secret.secret_arn == null ? true : can(regex("^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$", secret.secret_arn)),
        secret.kms_key_arn == null ? true : can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", secret.kms_key_arn)),
      ] if secret != null
    ]]))
    error_message = "backends.<name>: parameter takes the name of a parameter, such as /sekisho/orders-token: not its ARN, and not the secret; secret_arn the whole ARN of a secret of this account and region, which ends in a hyphen and six characters; kms_key_arn the ARN of a KMS key (not of an alias)."
  }

  validation {
    condition = alltrue([for backend in values(var.backends) : alltrue([
      backend.timeout_seconds == null ? true : backend.timeout_seconds >= 1 && backend.timeout_seconds <= 25,
      backend.rate_per_second == null ? backend.burst == null : backend.rate_per_second >= 0.001 && backend.rate_per_second <= 1000,
      backend.burst == null ? true : backend.burst >= 1 && backend.burst <= 1000 && floor(backend.burst) == backend.burst,
      backend.max_answer_bytes == null ? true : backend.max_answer_bytes >= 1 && floor(backend.max_answer_bytes) == backend.max_answer_bytes,
      backend.per_day == null ? true : alltrue([for limit in values(backend.per_day) : limit >= 0 && floor(limit) == limit]),
    ])])
    error_message = "backends.<name>: timeout_seconds takes 1 to 25 seconds, since the gateway waits for 29; rate_per_second calls per second from 0.001 to 1000, and burst, which goes with it, whole calls from 1 to 1000; max_answer_bytes and per_day whole numbers."
  }
}

variable "functions" {
  description = <<-EOT
    What is to differ for a function, by its name (authorizer, settle, or one that the contract names).
      - memory_mb, timeout_seconds: instead of those in the contract's x-sekisho-functions.
      - architecture: arm64 or x86_64, as its zip was built.
      - version: the published version that callers get, such as "12"; null for the newest. To roll back, name the one before, and apply.
      - reserved_concurrency: -1 for none, 0 to switch it off, n to set n aside and allow no more.
      - environment: more environment variables.
      - traffic: expected requests_per_second at the peak, and seconds that one takes; `sizing` suggests a reservation from it.
  EOT
  type = map(object({
    memory_mb            = optional(number)
    timeout_seconds      = optional(number)
    architecture         = optional(string)
    version              = optional(string)
    reserved_concurrency = optional(number)
    environment          = optional(map(string), {})
    traffic = optional(object({
      requests_per_second = number
      seconds             = number
    }))
  }))
  default  = {}
  nullable = false

  validation {
    condition     = length(setsubtract(keys(var.functions), local.names)) == 0
    error_message = "functions names what is not a function: ${join(", ", setsubtract(keys(var.functions), local.names))}. There are ${join(", ", local.names)}."
  }

  validation {
    condition     = alltrue([for function in values(var.functions) : contains(["arm64", "x86_64"], coalesce(function.architecture, "arm64"))])
    error_message = "functions.<name>.architecture is arm64 or x86_64, and must be the one that the zip was built for."
  }
}

variable "api" {
  description = <<-EOT
    The gateway.
      - contract: path of the merged contract; null for contract.json in dist, where `make build` writes it beside the zips that hold it.
      - stage: name of the stage.
      - throttle: ceiling on each method, over all keys: calls per second on average, and how many at once; -1 for none. methods has lower ones of single methods, by names such as "GET /v1/health"; that one and "POST /register" have 5 a second and 10 at once unless given.
      - waf: requests_per_5_minutes of one address, by a rule of AWS WAF; null for no WAF. It is the one thing against a flood from a single address, and costs 6 USD a month.
      - domain: a domain of your own, with its certificate, and whether the execute-api address is switched off.
  EOT
  type = object({
    contract = optional(string)
    stage    = optional(string, "live")
    throttle = optional(object({
      rate_per_second = optional(number, 20)
      burst           = optional(number, 40)
      methods = optional(map(object({
        rate_per_second = number
        burst           = number
      })), {})
    }), {})
    waf = optional(object({
      requests_per_5_minutes = number
    }))
    domain = optional(object({
      name                    = string
      certificate_arn         = string
      disable_default_address = optional(bool, true)
    }))
  })
  default  = {}
  nullable = false
}

variable "tables" {
  description = <<-EOT
    The tables.
      - deletion_protection: whether AWS refuses to delete them.
      - point_in_time_recovery: backups of the last 35 days.
      - max_units_per_second: ceiling on the read and write units that each may consume; null for none.
  EOT
  type = object({
    deletion_protection    = optional(bool, true)
    point_in_time_recovery = optional(bool, true)
    max_units_per_second = optional(object({
      read  = optional(number)
      write = optional(number)
    }), {})
  })
  default  = {}
  nullable = false
}

variable "observability" {
  description = <<-EOT
    Logs, traces and alarms.
      - emails: who hears about failing functions, refusals and latency; the people of cost.emails don't.
      - playbooks: address of modules/observability/playbooks in your copy of the repository, for the links in alarms.
      - log_retention_days: how long logs are kept.
      - tracing: X-Ray, billed by trace.
      - otlp: an OpenTelemetry collector, base URL of its OTLP over HTTP, and the part of all traces that it gets, 0 to 1; null sends none. Each invocation waits for it, a second at most.
      - alarms: their thresholds; modules/observability says what they mean.
  EOT
  type = object({
    emails             = optional(list(string), [])
    playbooks          = optional(string, "modules/observability/playbooks")
    log_retention_days = optional(number, 30)
    tracing            = optional(bool, false)
    otlp               = optional(object({ endpoint = string, ratio = optional(number, 1) }))
    alarms = optional(object({
      refusals_above   = optional(number, 500)
      failures_above   = optional(number, 20)
      latency_ms_above = optional(number, 10000)
    }), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = try(can(regex("^https?://[^/]", var.observability.otlp.endpoint)) && var.observability.otlp.ratio >= 0 && var.observability.otlp.ratio <= 1, var.observability.otlp == null)
    error_message = "observability.otlp takes a base URL such as http://localhost:4318 as endpoint, and a ratio from 0 to 1."
  }
}

variable "cost" {
  description = <<-EOT
    Money.
      - emails: who hears about it.
      - monthly_usd: the monthly budget.
      - actual_percent, forecast_percent: the percentages of it, spent or forecast, at which they hear of it. Each is announced once a month, so those above brake.percent put a brake on again that was released.
      - anomaly_usd: from how many dollars an anomaly is worth a message.
      - monitor_arn: the account's SERVICE anomaly monitor, which `aws ce get-anomaly-monitors` shows; null for no word about anomalies.
      - own_monitor: makes one over this stack's tag instead, which AWS allows in a management account only.
      - live: the alarm on dollars per hour, estimated from live metrics, that brakes within minutes (modules/spend_alarm); usd_per_hour null for what would use up the budget in 72 hours; datapoints minutes above it of the last of.
      - brake: from which percentage of the budget, spent, it brakes; which functions it stops (null for all that the contract lets it stop); the architecture of its zip.
      - prices: US dollars to use instead of those in functions/internal/money/price/prices.json, by its names.
  EOT
  type = object({
    emails           = optional(list(string), [])
    monthly_usd      = optional(number, 10)
    actual_percent   = optional(list(number), [50, 80, 100, 120, 150, 200])
    forecast_percent = optional(list(number), [100])
    anomaly_usd      = optional(number, 5)
    monitor_arn      = optional(string)
    own_monitor      = optional(bool, false)
    live = optional(object({
      usd_per_hour = optional(number)
      datapoints   = optional(number, 3)
      of           = optional(number, 5)
    }), {})
    brake = optional(object({
      percent      = optional(number, 100)
      functions    = optional(list(string))
      architecture = optional(string, "arm64")
    }), {})
    prices = optional(map(number), {})
  })
  default  = {}
  nullable = false

  validation {
    condition     = length(setintersection(coalesce(var.cost.brake.functions, []), local.never_braked)) == 0
    error_message = "cost.brake.functions names ${join(", ", setintersection(coalesce(var.cost.brake.functions, []), local.never_braked))}, which the brake never stops: without the authorizer and account nobody sees why, without settle failed calls stay charged. Name functions that serve calls: ${join(", ", local.can_be_braked)}."
  }

  validation {
    condition     = length(setsubtract(coalesce(var.cost.brake.functions, []), keys(local.table))) == 0
    error_message = "cost.brake.functions names what serves no calls: ${join(", ", setsubtract(coalesce(var.cost.brake.functions, []), keys(local.table)))}. There are ${join(", ", local.can_be_braked)}."
  }

  validation {
    condition     = var.cost.live.usd_per_hour == null ? true : var.cost.live.usd_per_hour > 0
    error_message = "cost.live.usd_per_hour must be above 0 US dollars an hour, or null for the monthly budget divided by 72 hours."
  }

  validation {
    condition     = anytrue([for percent in var.cost.actual_percent : percent >= var.cost.brake.percent])
    error_message = "cost.brake.percent is ${var.cost.brake.percent}, above every one of cost.actual_percent (${join(", ", var.cost.actual_percent)}): no message would put the brake on. Add ${var.cost.brake.percent} to cost.actual_percent, or lower cost.brake.percent."
  }
}

variable "account" {
  description = <<-EOT
    What the account asks of everything in it; left out, nothing.
      - permissions_boundary: ARN of the policy that bounds every role.
      - role_path: path of every role, such as /service/.
      - kms_key_arn: a key of your own for tables, logs, environments and queues. Its policy must let this account's principals and logs.REGION.amazonaws.com use it. The topics keep a key of their own, which Budgets must reach.
      - vpc: subnet_ids and security_group_ids for the functions that call what only a private network reaches, and the functions' names. From there they reach DynamoDB and SSM only by endpoints or NAT.
  EOT
  type = object({
    permissions_boundary = optional(string)
    role_path            = optional(string, "/")
    kms_key_arn          = optional(string)
    vpc = optional(object({
      subnet_ids         = list(string)
      security_group_ids = list(string)
      functions          = optional(list(string), ["external"])
    }))
  })
  default  = {}
  nullable = false

  validation {
    condition     = var.account.permissions_boundary == null ? true : can(regex("^arn:[a-z-]+:iam::([0-9]{12}|aws):policy/.+$", var.account.permissions_boundary))
    error_message = "account.permissions_boundary takes the ARN of a policy: arn:aws:iam::ACCOUNT:policy/NAME."
  }

  validation {
    condition     = can(regex("^/([!-~]+/)?$", var.account.role_path))
    error_message = "account.role_path begins and ends with a slash, such as /service/."
  }

  validation {
    condition     = var.account.kms_key_arn == null ? true : can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+$", var.account.kms_key_arn))
    error_message = "account.kms_key_arn takes the ARN of a KMS key, not of an alias."
  }

  validation {
    condition     = length(setsubtract(try(var.account.vpc.functions, []), local.names)) == 0
    error_message = "account.vpc.functions names what is not a function: ${join(", ", setsubtract(try(var.account.vpc.functions, []), local.names))}. There are ${join(", ", local.names)}."
  }
}

variable "tags" {
  description = "Tags of every resource, besides sekisho-stack, which the budget counts by."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "concurrency_quota" {
  description = "The account's quota of concurrent executions. Null asks Service Quotas, which needs the permission to do so."
  type        = number
  default     = null

  validation {
    condition     = var.concurrency_quota == null ? true : var.concurrency_quota >= 1 && floor(var.concurrency_quota) == var.concurrency_quota
    error_message = "concurrency_quota takes the account's quota as a whole number of at least 1 (1000 unless it was changed; 10 in many new accounts), or null."
  }
}

variable "as_written" {
  description = "The settings as they were written, by the names of the variables above, before their types are applied: what is misspelt in them is refused. Left out, nothing is checked."
  type        = any
  default     = {}
  nullable    = false
}
