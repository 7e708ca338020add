terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.100, < 7"
    }
  }

  # The state lies beside this file, on this machine only. Good for trying out; see
  # envs/prod for a state that a team shares.
  backend "local" {}
}
