package mcpserver

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/gateway"
)

// record writes the line of an admission or a denial, whatever the level of the log: it is what
// settle reads. Its fields are called as in the access log, so that settle's filter, the export
// and Logs Insights read both. The line of an admission comes before the invocation, because after
// a crash it is all that tells what to give back; invocation leads to it from the platform's record
// of the crash.
func (s *server) record(message string, x *exchange, a gateway.Admission, more ...zap.Field) {
	x.setRecorded()
	fields := []zap.Field{
		zap.String("request_id", requestID(x.context())),
		zap.String("operation", a.Operation), zap.String("key_id", a.KeyID), zap.String("meter", a.Meter), zap.String("period", a.Period),
	}
	if a.AdmissionID != "" {
		fields = append(fields, zap.String("invocation", gateway.InvocationID(x.context())),
			zap.String("admission_id", a.AdmissionID), zap.String("units", a.Units), zap.String("refund_cap", a.RefundCap))
	}
	if a.Denial != "" {
		fields = append(fields, zap.String("denial", a.Denial))
	}
	if a.Crossed != "" { // whom to tell of is in the message about it
		fields = append(fields, zap.String("crossed", a.Crossed), zap.String("user_id", a.UserID), zap.String("plan", a.Plan))
	}
	entry := zapcore.Entry{Level: zapcore.InfoLevel, Time: s.Now(), Message: message}
	_ = s.Log.Core().Write(entry, append(fields, more...)) // as for any line, nobody could be told
}
