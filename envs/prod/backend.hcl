# Where the state of production is kept. Make the bucket once, with versioning switched on
# (an older state can then be brought back) and public access blocked, and name it here.
bucket = "my-terraform-states"
key    = "sekisho/prod.tfstate"
region = "us-east-1"
