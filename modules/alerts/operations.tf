# Who mends functions is not who pays for them, and nobody reads a topic that is mostly about
# somebody else's work.

locals {
  operations = "arn:${var.location.partition}:sns:${var.location.region}:${local.account}:${var.name}-operations"
}

resource "aws_sns_topic" "operations" {
  name              = "${var.name}-operations"
  display_name      = "Sekisho ${var.name}"
  kms_master_key_id = aws_kms_key.this.arn
  tags              = var.location.tags
}

resource "aws_sns_topic_policy" "operations" {
  arn = aws_sns_topic.operations.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "alarms"
      Effect    = "Allow"
      Principal = { Service = local.publishers.alarms }
      Action    = "sns:Publish"
      Resource  = local.operations
      Condition = local.same_account
    }]
  })
}

resource "aws_sns_topic_subscription" "operations" {
  for_each = toset(var.operations_emails)

  topic_arn = aws_sns_topic.operations.arn
  protocol  = "email"
  endpoint  = each.value
}
