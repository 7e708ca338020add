terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }

  # Bucket, key and region come from backend.hcl: `terraform init -backend-config=backend.hcl`.
  # The lock is a file beside the state, so no DynamoDB table is needed.
  backend "s3" {
    use_lockfile = true
    encrypt      = true
  }
}
