output "names" {
  description = "Names of the tables, by role: accounts (keys, users, settings) and usage (counters, refund markers, upstream buckets)."
  value       = { for role, table in aws_dynamodb_table.this : role => table.name }
}
