package statement

import "sekisho/functions/internal/money/chargeback"

// Language of a statement.
type Language string

// The languages.
const (
	English  Language = "en"
	Japanese Language = "ja"
)

// words are all texts of the page.
type words struct {
	Title, Made, Unfinished, NotesHead                                 string
	Bill, Estimate, Succeeded, Refunded, Denied, Share, USD            string
	ByKey, ByUser, ByTool, Key, User, Tool, Unnamed                    string
	Others, BeforeOnly, Total, Before, NotInLog, NotCounted            string
	MonthsHead, Month, MonthEstimate, MonthsNote                       string
	CeilingsHead, AllDenied, OverLimit, OverRate, Throttled            string
	GivenBack, Unknown, CeilingsNote                                   string
	BrakeHead, BrakeOff, BrakeOn, BrakeOnUndated, BrakeReleased        string
	BrakeElsewhere, BrakeUnknown, BrakeWhy, BrakeNote                  string
	WorstHead, WorstHour, WorstBefore, WorstBraked, NeverBraked        string
	WorstUnknown, CSVHead, CSVLink, CSVNote, SharesNote, Figure, Value string
	None, App, MoreApps                                                string
}

// tool names those rows that belong to no tool.
func (t words) tool(name string) string {
	switch name {
	case chargeback.NotInLog:
		return t.NotInLog
	case chargeback.NotCounted:
		return t.NotCounted
	}
	return name
}

var texts = map[Language]words{
	English: {
		Title:      "Sekisho: usage and spend in %s",
		Made:       "Figures read on %s by sekisho %s. Months and days are UTC.",
		Unfinished: "This month isn't over yet; its figures will still change.",
		NotesHead:  "Please note",

		Bill: "Bill", Estimate: "Estimated cost of all calls", Succeeded: "Units used", Refunded: "Units refunded", Denied: "Calls denied",
		Share: "Share", USD: "USD",

		ByKey: "Spend by key", ByUser: "Spend by user", ByTool: "Spend by tool", Key: "Key", User: "User", Tool: "Tool", Unnamed: "(no name)",
		Others: "%d others", BeforeOnly: "No calls this month", Total: "Total", Before: "Units used the month before",
		NotInLog: chargeback.NotInLog, NotCounted: chargeback.NotCounted, None: "There were no calls in this month.",
		App: "app %s", MoreApps: "and %d more",
		SharesNote: "A share is in proportion to what such calls cost. Units are what a plan counts: failed calls are refunded, denied calls take none. Long names are cut here; the CSV has them in full.",

		MonthsHead: "Months side by side", Month: "Month", MonthEstimate: "Estimated cost, USD",
		MonthsNote: "Estimates weigh every month's calls by today's prices, so that months compare. They cover calls alone, not what the service costs when idle.",

		CeilingsHead: "What the limits and ceilings did", AllDenied: "Calls denied by a limit of their plan",
		OverLimit: "Over the limit of the month or the day, by the access log", OverRate: "Faster than the rate allows, by the access log",
		Throttled: "Requests that API Gateway refused: throttled, or stopped by the brake", GivenBack: "Units refunded for calls that failed",
		Unknown: "unknown", CeilingsNote: "None of these calls ran to success, and none is charged. The access log may lag behind the counters or may have expired.",
		Figure: "What", Value: "How many",

		BrakeHead: "The brake", BrakeOff: "The brake is off, and no release is recorded.", BrakeOn: "The brake is on since %s: tools are stopped until somebody releases it.",
		BrakeOnUndated: "The brake is on: tools are stopped until somebody releases it.", BrakeReleased: "The brake is off; it was last released on %s.",
		BrakeElsewhere: "The brake is off: it was on since %s and was released by other means than sekisho brake off.",
		BrakeUnknown:   "Not known here: name the deployment's brake with --brake-function.", BrakeWhy: "Why",
		BrakeNote: "This is its state when the figures were read. Only the last time it was on or released is recorded.",

		WorstHead: "The most that can be spent", WorstHour: "In an hour, with every ceiling reached", WorstBefore: "Until the brake has stopped a runaway",
		WorstBraked: "In an hour with the brake on", NeverBraked: "the ceilings stay below the alarm", WorstUnknown: "Not known here: name a file with terraform output -json, with --ceilings.",

		CSVHead: "All rows", CSVLink: "Download %s", CSVNote: "One row per key and tool, the same as sekisho usage export prints.",
	},
	Japanese: {
		Title:      "Sekisho 利用・費用レポート %s",
		Made:       "集計日時 %s（sekisho %s）。月と日はUTCで区切ります。",
		Unfinished: "対象月はまだ終わっていません。数値は今後変わります。",
		NotesHead:  "ご注意",

		Bill: "請求額", Estimate: "全呼び出しの費用（見積り）", Succeeded: "使用ユニット", Refunded: "返還ユニット", Denied: "拒否された呼び出し",
		Share: "割合", USD: "USD",

		ByKey: "キー別の費用", ByUser: "利用者別の費用", ByTool: "ツール別の費用", Key: "キー", User: "利用者", Tool: "ツール", Unnamed: "（名前なし）",
		Others: "その他 %d 件", BeforeOnly: "今月は呼び出しなし", Total: "合計", Before: "前月の使用ユニット",
		NotInLog: "（ログにない分）", NotCounted: "（未集計の分）", None: "この月に呼び出しはありません。",
		App: "アプリ %s", MoreApps: "ほか %d 件",
		SharesNote: "割合は、呼び出しにかかる費用に比例します。ユニットはプランが数える単位です。失敗した呼び出しの分は返還され、拒否された呼び出しは消費しません。長い名前は途中で切っています。全文はCSVにあります。",

		MonthsHead: "月ごとの比較", Month: "月", MonthEstimate: "費用の見積り（USD）",
		MonthsNote: "比較できるよう、どの月も現在の単価で見積っています。呼び出しの費用だけで、待機中の費用は含みません。",

		CeilingsHead: "制限と上限の働き", AllDenied: "プランの制限で拒否された呼び出し",
		OverLimit: "月または日の上限を超過（アクセスログによる）", OverRate: "秒あたりの上限を超過（アクセスログによる）",
		Throttled: "API Gatewayが拒否したリクエスト（スロットリングまたはブレーキ）", GivenBack: "失敗した呼び出しに返還されたユニット",
		Unknown: "不明", CeilingsNote: "いずれも成功に至らなかった呼び出しで、課金されません。アクセスログはカウンターより遅れることや、保存期間を過ぎていることがあります。",
		Figure: "項目", Value: "件数",

		BrakeHead: "ブレーキ", BrakeOff: "ブレーキは解除されています。作動の記録はありません。", BrakeOn: "ブレーキは %s から作動中です。解除されるまでツールは停止します。",
		BrakeOnUndated: "ブレーキは作動中です。解除されるまでツールは停止します。", BrakeReleased: "ブレーキは解除されています。最後の解除は %s です。",
		BrakeElsewhere: "ブレーキは解除されています。%s に作動し、sekisho brake off 以外の方法で解除されました。",
		BrakeUnknown:   "不明です。--brake-function でブレーキの関数名を指定してください。", BrakeWhy: "理由",
		BrakeNote: "集計時点の状態です。記録に残るのは、最後の作動または解除だけです。",

		WorstHead: "支出の上限", WorstHour: "すべての上限に達した場合の1時間", WorstBefore: "暴走をブレーキが止めるまで",
		WorstBraked: "ブレーキ作動中の1時間", NeverBraked: "上限が警報のしきい値を下回ります", WorstUnknown: "不明です。terraform output -json の出力ファイルを --ceilings で指定してください。",

		CSVHead: "明細", CSVLink: "%s をダウンロード", CSVNote: "キーとツールごとに1行。sekisho usage export の出力と同じものです。",
	},
}
