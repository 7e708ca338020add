package mcpserver

import (
	"cmp"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/trace"
)

// record writes the line of an admission or a denial, whatever the level of the log: it is what
// settle reads. It says what the gate said just as the access log does, so that settle's filter, the
// export and Logs Insights read both. The line of an admission comes before the invocation, because
// after a crash it is all that says what to give back; invocation leads to it from the platform's
// record of the crash.
func (s *server) record(message string, x *exchange, a gateway.Admission, more ...zap.Field) {
	x.setRecorded(cmp.Or(a.Denial, succeeded))
	text, _ := a.MarshalText() // never fails
	fields := []zap.Field{
		zap.String("request_id", requestID(x.context())), zap.ByteString(gateway.AdmissionField, text), trace.Field(x.context()),
	}
	if id := gateway.InvocationID(x.context()); id != "" && a.AdmissionID != "" {
		fields = append(fields, zap.String("invocation", id))
	}
	fields = append(fields, x.signedIn.fields()...)
	entry := zapcore.Entry{Level: zapcore.InfoLevel, Time: s.Now(), Message: message}
	_ = s.Log.Core().Write(entry, append(fields, more...)) // as for any line, nobody could be told
}
