# Callers go by the alias, so going back to an earlier version is one apply and no build. A
# function that must not change before something else has, gets its alias from there.
resource "aws_lambda_alias" "live" {
  count = var.runtime.alias ? 1 : 0

  name             = "live"
  description      = "What callers get."
  function_name    = aws_lambda_function.this.function_name
  function_version = coalesce(var.runtime.version, aws_lambda_function.this.version)
}
