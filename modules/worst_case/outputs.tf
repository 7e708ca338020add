output "usd_per_hour" {
  description = "The most that an hour can cost: usd, or null and in unbounded what to set."
  value = {
    usd       = local.bounded ? ceil(local.usd.open * 100 - 0.000001) / 100 : null
    unbounded = local.unbounded
  }
}

output "usd_before_brake" {
  description = "The most that a runaway can cost until the brake has stopped it: the worst hour times the alarm's delay. usd is null where the worst case is unbounded, or where the ceilings keep it below the alarm."
  value = {
    usd           = local.bounded && local.trips ? ceil(local.usd.open * var.trip.delay_seconds / 3600 * 100 - 0.000001) / 100 : null
    unbounded     = local.unbounded
    delay_seconds = var.trip.delay_seconds
  }
}

output "usd_while_braked" {
  description = "The most that an hour can cost while the brake is on: what the methods that it leaves open can cause, and requests that are refused."
  value = {
    usd       = local.bounded ? ceil(local.usd.braked * 100 - 0.000001) / 100 : null
    unbounded = local.unbounded
  }
}
