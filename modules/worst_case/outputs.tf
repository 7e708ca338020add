output "usd_per_hour" {
  description = "The most that an hour can cost, from the ceilings: usd, or null and in unbounded what to set; and its parts, each with the ceiling that bounds it and its arithmetic."
  value = {
    usd       = local.usd
    unbounded = local.unbounded
    parts     = local.parts
    prices    = var.prices.note
  }
}

output "usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it: the worst hour times the alarm's delay. usd is null where the worst case is unbounded, or where the ceilings keep it below the alarm."
  value = {
    usd           = local.bounded && local.trips ? ceil(local.usd * var.trip.delay_seconds / 3600 * 10000 - 0.000001) / 10000 : null
    unbounded     = local.unbounded
    delay_seconds = var.trip.delay_seconds
    how = (
      !local.bounded ? local.unbounded
      : !local.trips ? "never braked: the ceilings keep an hour at ${local.usd} USD or less, and the alarm waits for ${var.trip.usd_per_hour}"
      : "${local.usd} USD an hour × ${var.trip.delay_seconds} s / 3600 s: ${var.trip.how}"
    )
  }
}
