package bench

func races(*run) {}
