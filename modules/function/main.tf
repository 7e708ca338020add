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
}

resource "aws_iam_role" "this" {
  name        = var.name
  description = "What the function ${var.name} may do."

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
      for statement in concat([local.log_statement], local.trace_statements, var.statements) : {
        Effect   = "Allow"
        Action   = statement.actions
        Resource = statement.resources
      }
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
  memory_size                    = var.runtime.memory_mb
  timeout                        = var.runtime.timeout_seconds
  reserved_concurrent_executions = var.reserved_concurrency

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

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each = var.alarms == null ? {} : {
    Errors    = var.alarms.errors_above
    Throttles = var.alarms.throttles_above
  }

  alarm_name        = "${var.name}-${lower(each.key)}"
  alarm_description = "The function ${var.name} had more than ${each.value} ${lower(each.key)} in 5 minutes."
  namespace         = "AWS/Lambda"
  metric_name       = each.key
  dimensions        = { FunctionName = aws_lambda_function.this.function_name }
  statistic         = "Sum"
  period            = 300

  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 1
  threshold           = each.value
  treat_missing_data  = "notBreaching"
  alarm_actions       = var.alarms.topic_arns
}
