mock_provider "aws" {}

run "tables" {
  command = plan

  variables {
    name                 = "demo"
    protection           = { point_in_time_recovery = false }
    max_units_per_second = { write = 200 }
  }

  assert {
    condition     = output.names == { accounts = "demo-accounts", usage = "demo-usage" }
    error_message = "The tables must be called after the stack."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.hash_key == "pk" && table.range_key == null && table.billing_mode == "PAY_PER_REQUEST"])
    error_message = "The tables have a partition key pk only, and are billed on demand."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : one(table.ttl).attribute_name == "expires_at"])
    error_message = "Counts and grants expire by expires_at."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.deletion_protection_enabled && one(table.server_side_encryption).enabled && !one(table.point_in_time_recovery).enabled])
    error_message = "Deletion protection and encryption are on by default, and point-in-time recovery follows its variable."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : one(table.on_demand_throughput).max_write_request_units == 200 && one(table.on_demand_throughput).max_read_request_units == -1])
    error_message = "A ceiling that was not given must be -1, none."
  }
}

run "defaults_and_a_key_of_ones_own" {
  command = plan

  variables {
    name        = "demo"
    kms_key_arn = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    tags        = { team = "agents" }
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : table.deletion_protection_enabled && one(table.point_in_time_recovery).enabled])
    error_message = "Unless switched off, tables are protected and backed up."
  }

  assert {
    condition     = alltrue([for table in aws_dynamodb_table.this : one(table.server_side_encryption).kms_key_arn == var.kms_key_arn && table.tags == tomap({ team = "agents" })])
    error_message = "The tables are encrypted with the key, and tagged."
  }
}

run "refuses_wrong_values" {
  command = plan

  variables {
    name                 = "Demo_1"
    max_units_per_second = { read = 0.5 }
  }

  expect_failures = [var.name, var.max_units_per_second]
}
