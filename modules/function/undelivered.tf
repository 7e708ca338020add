# Who starts a function without waiting for it (SNS, CloudWatch Logs) hands the event over for
# good: Lambda tries three times within six hours, and then the event is gone, unless it has
# somewhere to go.

resource "aws_sqs_queue" "undelivered" {
  count = var.runtime.asynchronous ? 1 : 0

  name                      = local.queue
  message_retention_seconds = 1209600 # 14 days, the most there is
  sqs_managed_sse_enabled   = var.location.kms_key_arn == null ? true : null
  kms_master_key_id         = var.location.kms_key_arn
  tags                      = var.location.tags
}

resource "aws_lambda_function_event_invoke_config" "this" {
  count = var.runtime.asynchronous ? 1 : 0

  function_name = aws_lambda_function.this.function_name
  qualifier     = one(aws_lambda_alias.live[*].name)

  destination_config {
    on_failure {
      destination = aws_sqs_queue.undelivered[0].arn
    }
  }
}
