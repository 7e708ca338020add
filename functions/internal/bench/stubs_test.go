package bench

func coldStarts(*run)    {}
func warmProcesses(*run) {}
func laptopService(*run) {}
func races(*run)         {}
