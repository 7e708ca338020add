package boot

import (
	"fmt"
	"io"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// NewLogger makes the logger of a function: JSON, one line an event, nothing sampled, because
// the line of a call is a record and not a hint. It logs at the level of SEKISHO_LOG_LEVEL:
// debug, info, warn or error; info when it is not set.
func NewLogger(env Env, function string, w io.Writer) (*zap.Logger, error) {
	level := zapcore.InfoLevel
	if v := env(LogLevel); v != "" {
		if err := level.Set(v); err != nil {
			return nil, fmt.Errorf("%s: want debug, info, warn or error, not %q", LogLevel, v)
		}
	}
	encoder := zap.NewProductionEncoderConfig()
	encoder.TimeKey, encoder.EncodeTime = "time", zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
	core := zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.AddSync(w), level)
	return zap.New(core).With(zap.String("function", function)), nil
}

// Panic puts a recovered value into words for the log: an error of the Go runtime as it is, of
// anything else the type only, since it may quote what a caller sent.
func Panic(recovered any) string {
	if err, ok := recovered.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", recovered)
}
