# The brake: a function on the topic, which stops what spends. What it may do is written out
# here in three policies. The first two are known when planning, so that a plan shows them; the
# third names the API, which is not.

locals {
  brake_name = "${var.name}-brake"
  lambda     = "arn:${var.location.partition}:lambda:${var.location.region}:${local.account}:function"
  stage      = "arn:${var.location.partition}:apigateway:${var.location.region}::/restapis/${var.brake.api_id}/stages/${var.stack.api.stage}"

  # The key lets the brake's role use it for messages through SNS, and for nothing else. The
  # role is not the principal: KMS refuses one that does not exist yet.
  brake_key_statement = {
    Sid       = "brake"
    Effect    = "Allow"
    Principal = { AWS = "*" }
    Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
    Resource  = ["*"]
    Condition = {
      StringEquals = {
        "kms:CallerAccount" = local.account
        "kms:ViaService"    = "sns.${var.location.region}.amazonaws.com"
      }
      ArnEquals = {
        "aws:PrincipalArn" = "arn:${var.location.partition}:iam::${local.account}:role/${local.brake_name}"
      }
    }
  }
}

module "brake" {
  source = "../function"

  name               = local.brake_name
  zip                = var.brake.zip
  location           = var.location
  runtime            = var.brake.runtime
  log_retention_days = var.brake.log_retention_days
  # A brake that fails is news.
  alarms = { topic_arns = [aws_sns_topic.this.arn], errors_above = 0, throttles_above = 0 }

  environment = {
    SEKISHO_LOG_LEVEL            = "info"
    SEKISHO_BRAKE_FUNCTIONS      = join(",", var.brake.functions)
    SEKISHO_BRAKE_TOPIC_ARN      = local.topic
    SEKISHO_BRAKE_ALARMS         = "${var.name}-spend-rate"
    SEKISHO_BRAKE_BUDGET         = "${var.name}-monthly"
    SEKISHO_BRAKE_BUDGET_PERCENT = tostring(var.brake.percent)
    SEKISHO_API_ID               = var.brake.api_id
    SEKISHO_STAGE                = var.stack.api.stage
    SEKISHO_ACCOUNTS_TABLE       = var.brake.accounts_table
  }

  statements = [
    {
      actions   = ["lambda:DeleteFunctionConcurrency", "lambda:GetFunctionConcurrency", "lambda:PutFunctionConcurrency"]
      resources = [for function in var.brake.functions : "${local.lambda}:${function}"]
    },
    { actions = ["sns:Publish"], resources = [local.topic] },
  ]
}

# The accounts table holds keys and users too: the brake reaches only its own item.
resource "aws_iam_role_policy" "brake_memory" {
  name = "memory"
  role = module.brake.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = ["dynamodb:GetItem", "dynamodb:PutItem"]
      Resource  = ["arn:${var.location.partition}:dynamodb:${var.location.region}:${local.account}:table/${var.brake.accounts_table}"]
      Condition = { "ForAllValues:StringLike" = { "dynamodb:LeadingKeys" = ["brake#*"] } }
    }]
  })
}

resource "aws_iam_role_policy" "brake_stage" {
  name = "stage"
  role = module.brake.name

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["apigateway:GET", "apigateway:PATCH"]
      Resource = [local.stage]
    }]
  })
}

resource "aws_lambda_permission" "brake" {
  statement_id  = "topic"
  action        = "lambda:InvokeFunction"
  function_name = module.brake.name
  principal     = "sns.amazonaws.com"
  source_arn    = local.topic
}

# No filter policy: the brake's own messages carry an attribute, but { exists = false } matches
# no message without any attribute, and alarms and budgets have none. The function tells its
# own messages apart itself.
resource "aws_sns_topic_subscription" "brake" {
  topic_arn = aws_sns_topic.this.arn
  protocol  = "lambda"
  endpoint  = "${local.lambda}:${local.brake_name}"

  depends_on = [aws_lambda_permission.brake, aws_iam_role_policy.brake_memory, aws_iam_role_policy.brake_stage]
}
