# The stack, with what terraform.tfvars says. main.tf, variables.tf and outputs.tf are the same in
# dev and prod: edit those of dev, and `go test ./tests/terraform -run TestEnvironments -update`
# copies them. In a repository of your own, copy this directory and let source name a release of
# this one.

module "sekisho" {
  source = "../.."

  name              = var.name
  dist              = var.dist
  plans             = var.plans
  alerts            = var.alerts
  settings          = var.settings
  mcp               = var.mcp
  oauth             = var.oauth
  backends          = var.backends
  functions         = var.functions
  api               = var.api
  tables            = var.tables
  observability     = var.observability
  cost              = var.cost
  account           = var.account
  tags              = var.tags
  concurrency_quota = var.concurrency_quota

  as_written = {
    plans         = var.plans
    alerts        = var.alerts
    settings      = var.settings
    mcp           = var.mcp
    oauth         = var.oauth
    backends      = var.backends
    functions     = var.functions
    api           = var.api
    tables        = var.tables
    observability = var.observability
    cost          = var.cost
    account       = var.account
  }
}
