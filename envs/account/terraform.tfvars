# Apply this once per account and region, before the first stack.
region = "us-east-1"

# Accounts opened since 2023 have a SERVICE monitor already; `aws ce get-anomaly-monitors`
# shows it. Then name it here, since there can be only one.
# existing_monitor_arn = "arn:aws:ce::123456789012:anomalymonitor/…"
