# All rules of tflint's bundled ruleset: names, documentation, types, pinned sources, unused
# declarations, the files of a module.
plugin "terraform" {
  enabled = true
  preset  = "all"
}
