# All rules of the ruleset that tflint brings with it: names, documentation, types, pinned
# sources, unused declarations, the files of a module.
plugin "terraform" {
  enabled = true
  preset  = "all"
}
