# Where the state is kept. Make the bucket once, with versioning switched on (an older state can
# then be brought back) and public access blocked, and name it here. A key for each region.
bucket = "my-terraform-states"
key    = "sekisho/account-us-east-1.tfstate"
region = "us-east-1"
