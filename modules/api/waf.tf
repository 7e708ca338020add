# Throttles are for everybody together; this is for one address at a time. It costs 6 USD a month
# and 0.60 USD for a million requests.
resource "aws_wafv2_web_acl" "this" {
  count = var.waf == null ? 0 : 1

  name        = var.name
  description = "What one address may ask of ${var.name}."
  scope       = "REGIONAL"
  tags        = var.location.tags

  default_action {
    allow {}
  }

  rule {
    name     = "rate"
    priority = 1

    # A bare 403 makes MCP clients look for a login.
    action {
      block {
        custom_response {
          response_code = 429

          response_header {
            name  = "Retry-After"
            value = "300"
          }
        }
      }
    }

    statement {
      rate_based_statement {
        limit                 = var.waf.requests_per_5_minutes
        evaluation_window_sec = 300
        aggregate_key_type    = "IP"
      }
    }

    visibility_config {
      cloudwatch_metrics_enabled = true
      sampled_requests_enabled   = false
      metric_name                = "${var.name}-rate"
    }
  }

  visibility_config {
    cloudwatch_metrics_enabled = true
    sampled_requests_enabled   = false
    metric_name                = var.name
  }
}

resource "aws_wafv2_web_acl_association" "this" {
  count = var.waf == null ? 0 : 1

  resource_arn = aws_api_gateway_stage.this.arn
  web_acl_arn  = aws_wafv2_web_acl.this[0].arn
}
