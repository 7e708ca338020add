# Mistakes that a plan would otherwise carry out.

locals {
  home          = "account ${local.location.account_id}, ${local.location.region}"
  built_from    = try(trimspace(file("${var.dist}/contract.sha256")), "")
  contract_hash = filesha256(local.contract_path)
}

# Everything was made in one region of one account. Planned against another, all of it would be
# made a second time there, and the first would live on, billed and in no state.
resource "terraform_data" "home" {
  input = local.home

  lifecycle {
    ignore_changes = [input]

    postcondition {
      condition     = self.input == local.home
      error_message = "This state holds a stack in ${self.input}, and this plan is for ${local.home}. A stack does not move. Put the region and the credentials back; or, for a second stack, give it a state of its own (another directory, workspace or backend key). To move, make the new one first, then destroy the old one from its own state."
    }

    # The authorizer and mcp have the contract built in: with another one, the first refuses
    # every new route and the second lists the old tools.
    precondition {
      condition     = local.built_from == local.contract_hash
      error_message = "${local.built_from == "" ? "There is no ${var.dist}/contract.sha256, so nothing says which contract the zips were built from" : "The zips in ${var.dist} were built from another contract than ${local.contract_path}"}. Run `make generate build` at the top of the repository, with your contract as functions/internal/contract/openapi.yaml, and plan again."
    }
  }
}
