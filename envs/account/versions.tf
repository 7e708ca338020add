terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }

  # Bucket, key and region come from backend.hcl: `terraform init -backend-config=backend.hcl`.
  # Every stack of the account depends on this, so its state isn't kept on one person's machine.
  backend "s3" {
    use_lockfile = true
    encrypt      = true
  }
}
