provider "aws" {
  region = "us-east-1"
}

module "sekisho" {
  source   = "git::https://git.example.com/platform/sekisho.git?ref=v1.0.0"
  name     = "orders-meter"
  dist     = "${path.root}/dist"
  plans    = { free = { monthly = 1000, per_second = 2, burst = 10 }, pro = { monthly = 100000 } }
  backends = { orders = { auth = { type = "bearer", parameter = "/orders-meter/token" } } }
  cost     = { emails = ["finance@example.com"], monthly_usd = 25 }
}

output "stack" {
  value = module.sekisho
}
