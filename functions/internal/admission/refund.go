package admission

import (
	"cmp"

	"go.uber.org/zap"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/usage"
)

// LogRefund writes what became of each call of a refund. The dashboard counts these lines.
func LogRefund(log *zap.Logger, api *contract.API, r usage.Refund, outcomes []usage.Outcome) {
	for i, c := range r.Calls {
		operation := c.Operation
		if op := api.ByCode(c.Operation); op != nil {
			operation = op.ID
		}
		log.Info("refund", zap.String("meter", r.Meter), zap.String("admission_id", c.AdmissionID),
			zap.String("operation", cmp.Or(operation, "unknown")), zap.String("outcome", string(outcomes[i])))
	}
}
