# One table of prices, the same that `sekisho cost` reads. A region's own row comes before the
# base's, and a price given by hand before both.

locals {
  table    = jsondecode(file(var.prices.table))
  regional = lookup(local.table.regions, var.prices.region, {})

  rows = {
    for name, row in local.table.prices : name => {
      usd = lookup(var.prices.usd, name, try(local.regional[name].usd, row.usd))
      per = try(local.regional[name].per, row.per)
    }
  }

  # As arithmetic, for texts and for metric math: "3.5 / 1000000" says more than 0.0000035,
  # and is exact.
  priced = { for name, row in local.rows : name => row.per == 1 ? tostring(row.usd) : "${row.usd} / ${row.per}" }
  price  = { for name, row in local.rows : name => row.usd / row.per }

  prices_note = (
    var.prices.region == local.table.base || length(local.regional) > 0
    ? "Prices of ${var.prices.region}."
    : "Prices of ${local.table.base}: the table has none of ${var.prices.region}. Give what differs under regions in ${basename(var.prices.table)}, or as cost.prices."
  )
}
