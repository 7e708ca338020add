package mcpserver

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/trace"
)

// record writes the line of an admission or a denial, whatever the level of the log: it is what
// settle reads. Its fields are called as in the access log, so that settle's filter, the export
// and Logs Insights read both. The line of an admission comes before the invocation, because after
// a crash it is all that tells what to give back; invocation leads to it from the platform's record
// of the crash.
//
// What every reader works out is left out of the line that every call writes: see
// gateway.ParseDispatched.
func (s *server) record(message string, x *exchange, a gateway.Admission, more ...zap.Field) {
	x.setRecorded()
	fields := []zap.Field{
		zap.String("request_id", requestID(x.context())), zap.String("operation", a.Operation), zap.String("key_id", a.KeyID), trace.Field(x.context()),
	}
	add := func(name, value string, wanted bool) {
		if wanted && value != "" {
			fields = append(fields, zap.String(name, value))
		}
	}
	whole := a.Denial != "" || a.Crossed != "" || len(more) > 0 // settle is handed it as it is
	taken := a.AdmissionID != ""
	add("meter", a.Meter, whole || a.Meter != a.KeyID)
	add("period", a.Period, whole)
	add("invocation", gateway.InvocationID(x.context()), taken)
	add("admission_id", a.AdmissionID, taken)
	add("units", a.Units, whole || a.Units != "1")
	add("refund_cap", a.RefundCap, taken)
	add("denial", a.Denial, true)
	add("crossed", a.Crossed, true)
	add("user_id", a.UserID, a.Crossed != "") // whom the message is about
	add("plan", a.Plan, a.Crossed != "")
	fields = append(fields, x.signedIn.fields()...)
	entry := zapcore.Entry{Level: zapcore.InfoLevel, Time: s.Now(), Message: message}
	_ = s.Log.Core().Write(entry, append(fields, more...)) // as for any line, nobody could be told
}
