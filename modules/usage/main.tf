locals {
  ceiling = (
    var.max_units_per_second.read == null && var.max_units_per_second.write == null
    ? []
    : [var.max_units_per_second]
  )
}

resource "aws_dynamodb_table" "this" {
  for_each = toset(["accounts", "usage"])

  name                        = "${var.name}-${each.key}"
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = "pk"
  deletion_protection_enabled = var.protection.deletion_protection
  tags                        = var.tags

  attribute {
    name = "pk"
    type = "S"
  }

  # A TTL that lags by days costs storage and never correctness: whatever is counted carries the
  # month in its key, and grants say when they end. Users and keys have no such attribute.
  ttl {
    enabled        = true
    attribute_name = "expires_at"
  }

  point_in_time_recovery {
    enabled = var.protection.point_in_time_recovery
  }

  # Unless one is given, the key that AWS keeps for DynamoDB in this account: its use shows in
  # CloudTrail.
  server_side_encryption {
    enabled     = true
    kms_key_arn = var.kms_key_arn
  }

  dynamic "on_demand_throughput" {
    for_each = local.ceiling

    content {
      max_read_request_units  = coalesce(on_demand_throughput.value.read, -1)
      max_write_request_units = coalesce(on_demand_throughput.value.write, -1)
    }
  }
}
