# Mistakes that a plan would otherwise carry out.

locals {
  home          = "account ${local.location.account_id}, ${local.location.region}"
  built_from    = try(trimspace(file("${var.dist}/contract.sha256")), "")
  contract_hash = try(filesha256(local.contract_path), "")
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

    # The zips hold the contract too: with another one, the authorizer refuses every new route and
    # mcp lists the old tools.
    precondition {
      condition     = local.contract_hash != "" && local.built_from == local.contract_hash
      error_message = "${local.contract_hash == "" ? "There is no ${local.contract_path}" : local.built_from == "" ? "There is no ${var.dist}/contract.sha256, so nothing says which contract the zips hold" : "The zips in ${var.dist} hold another contract than ${local.contract_path}"}. Run `make build`, with CONTRACT=FILE for a contract of your own, and plan again."
    }

    precondition {
      condition     = length(local.unset_backends) == 0
      error_message = "The contract has backends that nothing is said of: ${join(", ", local.unset_backends)}. Give each its settings, such as backends = { ${try(local.unset_backends[0], "")} = { url = \"https://api.example.com\" } }."
    }

    precondition {
      condition     = length(local.unknown_backends) == 0
      error_message = "backends names what is no backend of the contract: ${join(", ", local.unknown_backends)}. There ${length(local.described_backends) == 0 ? "is none" : "are ${join(", ", keys(local.described_backends))}"}; add it to x-sekisho-backends, or take it out here."
    }

    precondition {
      condition     = length(local.misplaced_backends) == 0
      error_message = "backends does not fit the contract's types: ${join(", ", local.misplaced_backends)}. One of the type http takes url, one of the type lambda function_arn."
    }

    # Not beside the variable: what is wrong with a plan would hide what is wrong with functions.
    precondition {
      condition     = var.oauth.new_user_plan == null ? true : contains(keys(var.plans), var.oauth.new_user_plan)
      error_message = "oauth.new_user_plan is ${coalesce(var.oauth.new_user_plan, "null")}, which is not one of plans: ${join(", ", keys(var.plans))}."
    }
  }
}
