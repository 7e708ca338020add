provider "aws" {
  region = var.region

  # The budget counts what carries the first tag.
  default_tags {
    tags = {
      sekisho-stack = var.name
      managed-by    = "terraform"
    }
  }
}
