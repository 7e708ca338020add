resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/apigateway/${var.name}/${var.stage}/access"
  retention_in_days = var.access_log.retention_days
  kms_key_id        = var.location.kms_key_arn
  tags              = var.location.tags
}

# Its ID is made anew each time: two of one function may not share one, and the new one comes first.
resource "aws_lambda_permission" "settle" {
  statement_id_prefix = "access-log-"
  action              = "lambda:InvokeFunction"
  function_name       = var.access_log.settle.function_name
  qualifier           = local.alias
  principal           = "logs.amazonaws.com"
  source_arn          = "${aws_cloudwatch_log_group.this.arn}:*"
  source_account      = var.location.account_id

  lifecycle {
    create_before_destroy = true
  }
}

# What settle wants to see, calls that were admitted and then failed, and denials. The rest of
# the log is never delivered.
#
# Before the stage: a call that failed before the subscription existed would stay charged.
resource "aws_cloudwatch_log_subscription_filter" "this" {
  name            = "settle-${local.alias}"
  log_group_name  = aws_cloudwatch_log_group.this.name
  filter_pattern  = local.contract.x-sekisho-settle-filter
  destination_arn = "${local.lambda}:${var.access_log.settle.function_name}:${local.alias}"

  depends_on = [aws_lambda_permission.settle]

  # Under another name than the one from before the alias, so that the two can overlap: refunds
  # are applied once, however often they come.
  lifecycle {
    create_before_destroy = true
  }
}
