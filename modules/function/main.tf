locals {
  log_group     = "/aws/lambda/${var.name}"
  log_group_arn = "arn:${var.location.partition}:logs:${var.location.region}:${var.location.account_id}:log-group:${local.log_group}"

  log_statement = {
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${local.log_group_arn}:*"]
  }

  # X-Ray knows no resources: these two actions can only be allowed on everything.
  trace_statements = var.runtime.tracing ? [{
    actions   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
    resources = ["*"]
  }] : []

  # Describing interfaces can't be narrowed to a resource, so Lambda's own policy allows all of
  # this on everything too.
  network_statements = var.location.vpc == null ? [] : [{
    actions   = ["ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets"]
    resources = ["*"]
  }]

  # The environment, and the tables, are encrypted with this key where there is one.
  key_statements   = var.location.kms_key_arn == null ? [] : [{ actions = ["kms:Decrypt", "kms:GenerateDataKey"], resources = [var.location.kms_key_arn] }]
  queue_statements = var.runtime.asynchronous ? [{ actions = ["sqs:SendMessage"], resources = [local.queue_arn] }] : []

  queue     = "${var.name}-undelivered"
  queue_arn = "arn:${var.location.partition}:sqs:${var.location.region}:${var.location.account_id}:${local.queue}"

  # How many run at a time is Poisson-distributed around its mean; two standard deviations
  # above it leave about one peak in fifty without a place. The billionth keeps a product
  # that is whole, but for its last digit, from being rounded up.
  mean_concurrency = var.traffic == null ? null : var.traffic.requests_per_second * var.traffic.seconds
  suggested_concurrency = (
    local.mean_concurrency == null
    ? null
    : max(1, ceil(local.mean_concurrency + 2 * pow(local.mean_concurrency, 0.5) - 0.000000001))
  )
}

# Before the function: otherwise its first call makes the group, kept for ever.
resource "aws_cloudwatch_log_group" "this" {
  name              = local.log_group
  retention_in_days = var.log_retention_days
  kms_key_id        = var.location.kms_key_arn
  tags              = var.location.tags
}

resource "aws_iam_role" "this" {
  name                 = var.name
  path                 = var.location.role_path
  permissions_boundary = var.location.permissions_boundary
  description          = "What the function ${var.name} may do."
  tags                 = var.location.tags

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Principal = { Service = "lambda.amazonaws.com" }
      Action    = "sts:AssumeRole"
    }]
  })
}

resource "aws_iam_role_policy" "this" {
  name = "use"
  role = aws_iam_role.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      for statement in concat([local.log_statement], local.trace_statements, local.network_statements, local.key_statements, local.queue_statements, var.statements) : merge(
        {
          Effect   = "Allow"
          Action   = statement.actions
          Resource = statement.resources
        },
        try(statement.leading_keys, null) == null ? {} : { Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = statement.leading_keys } } },
      )
    ]
  })
}

resource "aws_lambda_function" "this" {
  function_name                  = var.name
  role                           = aws_iam_role.this.arn
  package_type                   = "Zip"
  runtime                        = "provided.al2023"
  handler                        = "bootstrap"
  architectures                  = [var.runtime.architecture]
  filename                       = var.zip
  source_code_hash               = filebase64sha256(var.zip)
  publish                        = true
  memory_size                    = var.runtime.memory_mb
  timeout                        = var.runtime.timeout_seconds
  reserved_concurrent_executions = var.reserved_concurrency
  kms_key_arn                    = length(var.environment) == 0 ? null : var.location.kms_key_arn
  tags                           = var.location.tags

  dynamic "environment" {
    for_each = length(var.environment) == 0 ? [] : [var.environment]

    content {
      variables = environment.value
    }
  }

  # Lines of its own at level info (START, REPORT) would be half of what a short call logs.
  logging_config {
    log_format       = "JSON"
    log_group        = aws_cloudwatch_log_group.this.name
    system_log_level = "WARN"
  }

  dynamic "vpc_config" {
    for_each = var.location.vpc == null ? [] : [var.location.vpc]

    content {
      subnet_ids         = vpc_config.value.subnet_ids
      security_group_ids = vpc_config.value.security_group_ids
    }
  }

  tracing_config {
    mode = var.runtime.tracing ? "Active" : "PassThrough"
  }

  depends_on = [aws_iam_role_policy.this]

  lifecycle {
    precondition {
      condition     = fileexists(var.zip)
      error_message = "There is no ${var.zip}. Terraform takes finished zips: run `make build` at the top of the repository first, or give the directory that holds them as dist."
    }
  }
}

