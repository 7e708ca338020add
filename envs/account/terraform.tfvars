# Apply this once per account and region, before the first stack.
region = "us-east-1"

# Accounts opened since 2023 have an anomaly monitor of services, and there can be only one:
#   aws ce get-anomaly-monitors --query 'AnomalyMonitors[?MonitorDimension==`SERVICE`].MonitorArn'
# If that shows none, make it here.
# create_monitor = true
