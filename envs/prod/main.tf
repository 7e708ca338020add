provider "aws" {
  region = var.region

  # The budget tells this stack's costs by the first tag.
  default_tags {
    tags = {
      sekisho-stack = var.name
      managed-by    = "terraform"
    }
  }
}

module "sekisho" {
  source = "../.."

  name              = var.name
  dist              = var.dist
  plans             = var.plans
  settings          = var.settings
  upstream          = var.upstream
  functions         = var.functions
  api               = var.api
  tables            = var.tables
  observability     = var.observability
  cost              = var.cost
  concurrency_quota = var.concurrency_quota
}
