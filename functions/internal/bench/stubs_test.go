package bench

func laptopService(*run) {}
func races(*run)         {}
