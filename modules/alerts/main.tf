locals {
  account = var.location.account_id
  roles   = "arn:${var.location.partition}:iam::${local.account}:role${var.location.role_path}"
  topics  = "arn:${var.location.partition}:sns:${var.location.region}:${local.account}"

  topic       = "${local.topics}:${var.name}-money"
  usage_topic = "${local.topics}:${var.name}-usage"

  # What an endpoint looks like, by protocol. A topic like these can't deliver to a FIFO queue.
  endpoints = {
    email = "^[^@\\s]+@[^@\\s.]+(\\.[^@\\s.]+)+$"
    https = "^https://[^@/?#\\s]+([/?#]\\S*)?$"
    sqs   = "^arn:[a-z-]+:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,80}$"
  }

  # The services that may publish, each only on behalf of this account: without that condition
  # anybody's budget could be pointed at this topic.
  publishers = {
    budgets   = "budgets.amazonaws.com"
    anomalies = "costalerts.amazonaws.com"
    alarms    = "cloudwatch.amazonaws.com"
  }

  # The role itself can't be the principal: KMS refuses one that does not exist yet, and the
  # functions are made after the topic.
  role_statements = [
    for sid, role in merge(var.publishing_roles, { usage = var.usage.publishing_role }) : {
      Sid       = sid
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
          "aws:PrincipalArn" = "${local.roles}${role}"
        }
      }
    }
  ]

  same_account = { StringEquals = { "aws:SourceAccount" = local.account } }

  notifications = concat(
    [for percent in var.budget.actual_percent : { type = "ACTUAL", percent = percent }],
    [for percent in var.budget.forecast_percent : { type = "FORECASTED", percent = percent }],
  )
}

# AWS's own key for SNS can't be opened to Budgets and the other services, so the topics have a
# key of their own (1 USD a month).
resource "aws_kms_key" "this" {
  description             = "Messages of ${var.name}"
  enable_key_rotation     = true
  deletion_window_in_days = 7
  tags                    = var.location.tags

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [{
        Sid       = "account"
        Effect    = "Allow"
        Principal = { AWS = "arn:${var.location.partition}:iam::${local.account}:root" }
        Action    = ["kms:*"]
        Resource  = ["*"]
      }],
      [for sid, service in local.publishers : {
        Sid       = sid
        Effect    = "Allow"
        Principal = { Service = service }
        Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
        Resource  = ["*"]
        Condition = local.same_account
      }],
      local.role_statements,
    )
  })
}

resource "aws_sns_topic" "this" {
  name              = "${var.name}-money"
  display_name      = "Sekisho ${var.name}"
  kms_master_key_id = aws_kms_key.this.arn
  tags              = var.location.tags
}

resource "aws_sns_topic_policy" "this" {
  arn = aws_sns_topic.this.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [for sid, service in local.publishers : {
      Sid       = sid
      Effect    = "Allow"
      Principal = { Service = service }
      Action    = "sns:Publish"
      Resource  = local.topic
      Condition = local.same_account
    }]
  })
}

resource "aws_sns_topic_subscription" "email" {
  for_each = toset(var.emails)

  topic_arn = aws_sns_topic.this.arn
  protocol  = "email"
  endpoint  = each.value
}

# Messages about keys have a topic of their own: the brake obeys the one above, and those who
# look after users are seldom those who look after money.
resource "aws_sns_topic" "usage" {
  name              = "${var.name}-usage"
  display_name      = "Sekisho ${var.name}"
  kms_master_key_id = aws_kms_key.this.arn
  tags              = var.location.tags
}

# SNS gives a topic without a policy to every principal of the account. It refuses a role that
# does not exist yet, as KMS does.
resource "aws_sns_topic_policy" "usage" {
  arn = aws_sns_topic.usage.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "usage"
      Effect    = "Allow"
      Principal = { AWS = "*" }
      Action    = "sns:Publish"
      Resource  = local.usage_topic
      Condition = { ArnEquals = { "aws:PrincipalArn" = "${local.roles}${var.usage.publishing_role}" } }
    }]
  })
}

resource "aws_sns_topic_subscription" "usage" {
  for_each = { for s in distinct(var.usage.subscriptions) : "${s.protocol} ${s.endpoint}" => s }

  topic_arn = aws_sns_topic.usage.arn
  protocol  = each.value.protocol
  endpoint  = each.value.endpoint
}

resource "aws_budgets_budget" "this" {
  name         = "${var.name}-monthly"
  budget_type  = "COST"
  limit_amount = tostring(var.budget.monthly_usd)
  limit_unit   = "USD"
  time_unit    = "MONTHLY"
  tags         = var.location.tags

  cost_filter {
    name   = "TagKeyValue"
    values = [format("user:%s$%s", var.tag.key, var.tag.value)]
  }

  dynamic "notification" {
    for_each = local.notifications

    content {
      comparison_operator        = "GREATER_THAN"
      notification_type          = notification.value.type
      threshold                  = notification.value.percent
      threshold_type             = "PERCENTAGE"
      subscriber_sns_topic_arns  = [aws_sns_topic.this.arn]
      subscriber_email_addresses = var.emails
    }
  }

  # Budgets sends a test message to the topic, and refuses one it may not publish to.
  depends_on = [aws_sns_topic_policy.this]
}

# Over a tag, only in an organization's management account: a member account is refused
# (https://docs.aws.amazon.com/cost-management/latest/userguide/getting-started-ad.html).
resource "aws_ce_anomaly_monitor" "this" {
  count = var.anomaly.own_monitor ? 1 : 0

  name         = "${var.name}-anomalies"
  monitor_type = "CUSTOM"
  tags         = var.location.tags

  monitor_specification = jsonencode({
    And            = null
    CostCategories = null
    Dimensions     = null
    Not            = null
    Or             = null
    Tags = {
      Key          = "user:${var.tag.key}"
      MatchOptions = null
      Values       = [var.tag.value]
    }
  })
}

# IMMEDIATE goes to SNS only; the people get it from the topic.
resource "aws_ce_anomaly_subscription" "this" {
  count = var.anomaly.own_monitor || var.anomaly.monitor_arn != null ? 1 : 0

  name             = "${var.name}-anomalies"
  frequency        = "IMMEDIATE"
  monitor_arn_list = [try(aws_ce_anomaly_monitor.this[0].arn, var.anomaly.monitor_arn)]
  tags             = var.location.tags

  threshold_expression {
    dimension {
      key           = "ANOMALY_TOTAL_IMPACT_ABSOLUTE"
      match_options = ["GREATER_THAN_OR_EQUAL"]
      values        = [tostring(var.anomaly.impact_usd)]
    }
  }

  subscriber {
    type    = "SNS"
    address = aws_sns_topic.this.arn
  }

  depends_on = [aws_sns_topic_policy.this]
}

# It was there always, before it needed a monitor to be given.
moved {
  from = aws_ce_anomaly_subscription.this
  to   = aws_ce_anomaly_subscription.this[0]
}
