# What the stack has no setting for is refused: Terraform itself would drop it silently. The
# paths are made as in ../../variables.tf.

locals {
  given = {
    plans         = var.plans
    settings      = var.settings
    upstream      = var.upstream
    functions     = var.functions
    api           = var.api
    tables        = var.tables
    observability = var.observability
    cost          = var.cost
  }

  given_paths = toset(flatten([
    for a, x in local.given : try([
      for b, y in x : concat(["${a}.${b}"], try([
        for c, z in y : concat(["${a}.${b}.${c}"], try([
          for d, _ in z : "${a}.${b}.${c}.${d}"
        ], []))
      ], []))
    ], [])
  ]))

  misspelt = setsubtract(local.given_paths, module.sekisho.setting_paths)
}
