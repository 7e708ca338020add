# Terraform silently drops an attribute that a type does not have, and a misspelt ceiling is no
# ceiling. So the roots under envs/, which take any value, hand on what they were given as it is,
# and its paths, such as functions.mcp.memory_mb, are compared with those of the typed variables.
locals {
  spellings = {
    known = {
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
    written = var.as_written
  }

  # Four levels are as deep as settings go. What has no members is an error to iterate over.
  setting_paths = {
    for spelling, settings in local.spellings : spelling => toset(flatten([
      for a, x in settings : try([
        for b, y in x : concat(["${a}.${b}"], try([
          for c, z in y : concat(["${a}.${b}.${c}"], try([
            for d, _ in z : "${a}.${b}.${c}.${d}"
          ], []))
        ], []))
      ], [])
    ]))
  }

  misspelt = setsubtract(local.setting_paths.written, local.setting_paths.known)
}
