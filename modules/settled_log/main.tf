# Its ID is made anew each time: two of one function may not share one, and the new one comes first.
resource "aws_lambda_permission" "this" {
  statement_id_prefix = "settled-log-"
  action              = "lambda:InvokeFunction"
  function_name       = var.settle.function_name
  qualifier           = var.settle.alias
  principal           = "logs.amazonaws.com"
  source_arn          = "arn:${var.location.partition}:logs:${var.location.region}:${var.location.account_id}:log-group:${var.log_group}:*"
  source_account      = var.location.account_id

  lifecycle {
    create_before_destroy = true
  }
}

resource "aws_cloudwatch_log_subscription_filter" "this" {
  name            = "settle-${var.settle.alias}"
  log_group_name  = var.log_group
  filter_pattern  = var.filter_pattern
  destination_arn = "arn:${var.location.partition}:lambda:${var.location.region}:${var.location.account_id}:function:${var.settle.function_name}:${var.settle.alias}"

  depends_on = [aws_lambda_permission.this]
}
