module "sekisho" {
  source   = "git::https://git.example.com/platform/sekisho.git?ref=v1.0.0"
  name     = "orders-meter"
  backends = { orders = { auth = { type = "bearer", parameter = "/orders-meter/token" } } }
  cost     = { emails = ["finance@example.com"], monthly_usd = 25 }
}
output "stack" { value = module.sekisho }
