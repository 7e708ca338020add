output "name" {
  description = "Name of the alarm, for the brake to obey."
  value       = aws_cloudwatch_metric_alarm.this.alarm_name
}

output "trip" {
  description = "When it trips and what follows: usd_per_hour, delay_seconds from the first expensive minute until the last function has stopped, and how that adds up."
  value = {
    usd_per_hour  = var.trip.usd_per_hour
    delay_seconds = sum(values(local.delay))
    how           = "${var.trip.datapoints} minutes above ${var.trip.usd_per_hour} USD an hour, ${local.delay.metrics} s until metrics are there, ${local.delay.alarm} s until the alarm looks, ${local.delay.stop} s for the message, the brake and running calls"
  }
}

output "prices" {
  description = "The prices used, by the names of the table: usd as numbers, usd_for_one as terms of arithmetic such as 3.5 / 1000000, and a note on where they hold."
  value = {
    usd         = local.price
    usd_for_one = local.priced
    note        = local.prices_note
  }
}
