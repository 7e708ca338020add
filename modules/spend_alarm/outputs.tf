output "names" {
  description = "Names of the alarms, for the brake to obey."
  value       = [for a in values(local.alarms) : a.name]
}

output "trip" {
  description = "When they trip and what follows: usd_per_hour; delay_seconds, the most of a runaway that is paid for from its first minute until the last function has stopped; and how that adds up."
  value = {
    usd_per_hour  = var.trip.usd_per_hour
    delay_seconds = local.worst_seconds
    how = join("", [
      "${var.trip.datapoints} minutes above ${var.trip.usd_per_hour} USD an hour, ${local.until_seen.metrics} s until metrics are there, ${local.until_seen.alarm} s until the alarm looks, ${local.until_seen.stop} s for the message, the brake and running calls",
      local.worst_seconds > local.delays.short ? "; what comes and goes is seen after ${local.delays.long} s, in ${var.trip.datapoints - 1} of ${var.trip.of} minutes" : "",
    ])
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
