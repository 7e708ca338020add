# The functions before somebody else's services: one for each backend of the contract, all of the same
# program. Each may read its own secrets, and invoke its own function, and nothing beside them.

locals {
  described_backends = try(local.contract.x-sekisho-backends, {})

  # Settings that say nothing are of a backend that is not configured yet: it tells every caller so.
  set_backends       = { for name, backend in var.backends : name => backend if anytrue([for value in values(backend) : value != null]) }
  unset_backends     = sort(setsubtract(keys(local.described_backends), keys(var.backends)))
  unknown_backends   = sort(setsubtract(keys(local.set_backends), keys(local.described_backends)))
  misplaced_backends = [for name, backend in local.set_backends : name if try(local.described_backends[name].type == "lambda" ? backend.function_arn == null : backend.function_arn != null, false)]

  # A backend that has settings, but no address of its own, is where the contract says.
  backend_urls = {
    for name, described in local.described_backends : name => try(coalesce(local.set_backends[name].url, try(described.url, null)), null)
    if described.type == "http"
  }

  backend_secrets = {
    for name, backend in local.set_backends : name => [for secret in [backend.auth, backend.signing] : secret if secret != null]
  }

  # As the relay reads it: what is null stays out.
  backend_settings = {
    for name in keys(local.described_backends) : name => merge(
      { name = name },
      try(local.backend_urls[name], null) == null ? {} : { url = local.backend_urls[name] },
      try({
        for part, value in local.set_backends[name] : part => try({ for member, text in value : member => text if text != null && member != "kms_key_arn" }, value)
        if value != null && !contains(["url", "vpc"], part)
      }, {}),
    )
  }

  # Those whose calls are counted: to hold a rate, or a limit of the day, by their settings or by the
  # contract once they can be called at all.
  rated_backends = [for name in keys(local.described_backends) : name if try(local.set_backends[name].rate_per_second, null) != null]
  daily_backends = [for name in keys(local.described_backends) : name if anytrue([
    length(coalesce(try(local.set_backends[name].per_day, null), {})) > 0,
    (try(local.backend_urls[name], null) != null || try(local.set_backends[name].function_arn, null) != null) && anytrue(flatten([
      for item in values(local.contract.paths) : [
        for operation in values(item) : try(operation.x-sekisho.per_day, 0) > 0 if try(operation.x-sekisho.backend, "") == name
      ]
    ])),
  ])]

  relays = {
    for name in keys(local.described_backends) : name => {
      environment = {
        SEKISHO_BACKEND     = jsonencode(local.backend_settings[name])
        SEKISHO_USAGE_TABLE = module.usage.names.usage
      }
      vpc = try(local.set_backends[name].vpc, null)

      statements = concat(
        !contains(local.rated_backends, name) ? [] : [
          { actions = ["dynamodb:GetItem", "dynamodb:UpdateItem"], resources = [local.table_arns.usage], leading_keys = ["bucket#*"] },
        ],
        !contains(local.daily_backends, name) ? [] : [
          { actions = ["dynamodb:GetItem", "dynamodb:PutItem"], resources = [local.table_arns.usage], leading_keys = ["daily#*"] },
        ],
        [for secret in try(local.backend_secrets[name], []) : {
          actions   = ["ssm:GetParameter"]
          resources = ["arn:${local.location.partition}:ssm:${local.location.region}:${local.location.account_id}:parameter/${trimprefix(secret.parameter, "/")}"]
        } if secret.parameter != null],
        # The relay reads a secret through Parameter Store, by the name within its ARN
        # (docs.aws.amazon.com/systems-manager/latest/userguide/integration-ps-secretsmanager.html).
        flatten([for secret in try(local.backend_secrets[name], []) : [
          { actions = ["secretsmanager:GetSecretValue"], resources = [secret.secret_arn] },
          {
            actions   = ["ssm:GetParameter"]
            resources = ["arn:${local.location.partition}:ssm:${local.location.region}:${local.location.account_id}:parameter/aws/reference/secretsmanager/${regex(":secret:(.+)-[A-Za-z0-9]{6}$", secret.secret_arn)[0]}"]
          },
        ] if secret.secret_arn != null]),
        [for secret in try(local.backend_secrets[name], []) : { actions = ["kms:Decrypt"], resources = [secret.kms_key_arn] } if secret.kms_key_arn != null],
        try(local.set_backends[name].function_arn, null) == null ? [] : [{ actions = ["lambda:InvokeFunction"], resources = [local.set_backends[name].function_arn] }],
      )
    }
  }
}
