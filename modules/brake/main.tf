# A function on the topic that stops what spends. Three policies say what it may do. The first
# two are known when planning, so that a plan shows them; the third names the API, whose ID is
# not. IAM knows no part of a stage: that the function changes only variables and throttles is in
# its code.

locals {
  account   = var.location.account_id
  name      = "${var.name}-brake"
  lambda    = "arn:${var.location.partition}:lambda:${var.location.region}:${local.account}:function"
  stage     = "arn:${var.location.partition}:apigateway:${var.location.region}::/restapis/${var.api.id}/stages/${var.api.stage}"
  alarm     = "arn:${var.location.partition}:cloudwatch:${var.location.region}:${local.account}:alarm"
  parameter = "/sekisho/${var.name}/brake"
  topic     = "arn:${var.location.partition}:sns:${var.location.region}:${local.account}:${var.obeys.topic_name}"
}

module "function" {
  source = "../function"

  name               = local.name
  zip                = var.zip
  location           = var.location
  runtime            = merge(var.runtime, { asynchronous = true, alias = false })
  log_retention_days = var.log_retention_days
  # A brake that fails is news.
  alarms = merge(var.alarms, { errors_above = 0, throttles_above = 0 })

  environment = {
    SEKISHO_LOG_LEVEL            = "info"
    SEKISHO_BRAKE_FUNCTIONS      = join(",", var.functions)
    SEKISHO_BRAKE_TOPIC_ARN      = local.topic
    SEKISHO_BRAKE_ALARMS         = join(",", var.obeys.alarm_names)
    SEKISHO_BRAKE_BUDGET         = var.obeys.budget_name
    SEKISHO_BRAKE_BUDGET_PERCENT = tostring(var.obeys.budget_percent)
    SEKISHO_BRAKE_PARAMETER      = aws_ssm_parameter.this.name
    SEKISHO_API_ID               = var.api.id
    SEKISHO_STAGE                = var.api.stage
    SEKISHO_ACCOUNTS_TABLE       = var.accounts_table
  }

  statements = [
    {
      actions   = ["lambda:DeleteFunctionConcurrency", "lambda:GetFunctionConcurrency", "lambda:PutFunctionConcurrency"]
      resources = [for function in var.functions : "${local.lambda}:${function}"]
    },
    { actions = ["sns:Publish"], resources = [local.topic] },
    { actions = ["cloudwatch:SetAlarmState"], resources = [for name in var.obeys.alarm_names : "${local.alarm}:${name}"] },
    { actions = ["ssm:PutParameter"], resources = ["arn:${var.location.partition}:ssm:${var.location.region}:${local.account}:parameter${local.parameter}"] },
  ]
}

# Whether the brake is on, for Terraform to read: a plan that finds "braked" here leaves what is
# stopped at 0. Without it, any apply would put back the declared values, and release the brake in
# silence.
resource "aws_ssm_parameter" "this" {
  name           = local.parameter
  description    = "Whether the brake of ${var.name} is on: open or braked. The brake writes it."
  type           = "String"
  insecure_value = "open"
  tags           = var.location.tags

  lifecycle {
    ignore_changes = [insecure_value]
  }
}

# The accounts table holds keys and users too: the brake reaches only its own item.
resource "aws_iam_role_policy" "memory" {
  name = "memory"
  role = module.function.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["dynamodb:GetItem", "dynamodb:PutItem"]
      Resource  = ["arn:${var.location.partition}:dynamodb:${var.location.region}:${local.account}:table/${var.accounts_table}"]
      Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["brake#*"] } }
    }]
  })
}

resource "aws_iam_role_policy" "stage" {
  name = "stage"
  role = module.function.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["apigateway:GET", "apigateway:PATCH"]
      Resource = [local.stage]
    }]
  })
}

resource "aws_lambda_permission" "this" {
  statement_id  = "topic"
  action        = "lambda:InvokeFunction"
  function_name = module.function.name
  principal     = "sns.amazonaws.com"
  source_arn    = local.topic
}

# No filter policy: the brake's own messages carry an attribute, but { exists = false } does not
# match a message that has no attributes at all, as those of alarms and budgets. The function
# recognises its own messages itself.
resource "aws_sns_topic_subscription" "this" {
  topic_arn = local.topic
  protocol  = "lambda"
  endpoint  = "${local.lambda}:${local.name}"

  depends_on = [aws_lambda_permission.this, aws_iam_role_policy.memory, aws_iam_role_policy.stage]
}
