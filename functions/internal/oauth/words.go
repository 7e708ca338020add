package oauth

import (
	"fmt"
	"net/http"

	lang "golang.org/x/text/language"
)

// language is one that pages are written in, by the tag of its lang attribute.
type language string

const (
	english  language = "en"
	japanese language = "ja"
)

var languages = lang.NewMatcher([]lang.Tag{lang.English, lang.Japanese})

// languageOf is the one that a browser asks for, else English.
func languageOf(h http.Header) language {
	// A header that can't be read asks for nothing.
	tags, _, _ := lang.ParseAcceptLanguage(h.Get("Accept-Language"))
	if _, index, confidence := languages.Match(tags...); confidence > lang.No && index == 1 {
		return japanese
	}
	return english
}

// say is a sentence in the language.
func (l language) say(word string, args ...any) string {
	text, ok := words[word]
	if !ok {
		panic("there is no word " + word)
	}
	if len(args) == 0 {
		return text[l]
	}
	return fmt.Sprintf(text[l], args...)
}

// words are the sentences of pages and errors. Those of errors say what to do next.
var words = map[string]map[language]string{
	"title":         {english: "Sign in to Sekisho", japanese: "Sekisho にサインイン"},
	"title.error":   {english: "This sign-in can't go on", japanese: "このサインインは続けられません"},
	"asks":          {english: "wants to use your tools", japanese: "があなたのツールの利用を求めています"},
	"from":          {english: "vouched for by the site at this address", japanese: "このアドレスのサイトが保証しています"},
	"operator":      {english: "registered by this server's operator", japanese: "このサーバーの運営者が登録したアプリです"},
	"unverified":    {english: "Nobody has verified this app. Go on only if you started this sign-in yourself, just now.", japanese: "このアプリは誰にも確認されていません。たった今ご自身でサインインを始めた場合にだけ続けてください。"},
	"app":           {english: "An unverified app", japanese: "未確認のアプリ"},
	"calls":         {english: "Calls itself", japanese: "自称する名前"},
	"unnamed":       {english: "(no name)", japanese: "（名前なし）"},
	"leads":         {english: "Access goes to", japanese: "アクセス権の送り先"},
	"leads.local":   {english: "%s (an app on this computer)", japanese: "%s（このコンピューター上のアプリ）"},
	"leads.app":     {english: "%s (an app on this device)", japanese: "%s（この端末のアプリ）"},
	"may":           {english: "It may", japanese: "許可される内容"},
	"may.call":      {english: "call the tools of this server as you, counted against your plan", japanese: "このサーバーのツールをあなたとして呼び出すこと（利用量はあなたのプランに加算されます）"},
	"until":         {english: "Its access ends after %d days, or sooner if you end it. It never sees your API key.", japanese: "アクセスは %d 日後に終了します（それより前に取り消すこともできます）。API キーがアプリに渡ることはありません。"},
	"key":           {english: "Your API key", japanese: "API キー"},
	"key.hint":      {english: "Type it only on this page, at %s.", japanese: "%s のこのページ以外では入力しないでください。"},
	"allow":         {english: "Allow", japanese: "許可する"},
	"deny":          {english: "Deny", japanese: "拒否する"},
	"back":          {english: "Close this page and start again from your app.", japanese: "このページを閉じて、アプリからやり直してください。"},
	"key.missing":   {english: "Enter your API key.", japanese: "API キーを入力してください。"},
	"key.malformed": {english: "That is not an API key of this server. Copy the whole key, which starts with sekisho_.", japanese: "このサーバーの API キーではありません。sekisho_ で始まるキー全体をコピーしてください。"},
	"key.unknown":   {english: "This server doesn't know that key. Check that you copied the right one.", japanese: "このキーは登録されていません。正しいキーをコピーしたか確認してください。"},
	"key.revoked":   {english: "That key was revoked. Use the one that replaced it, or ask whoever gave it to you.", japanese: "このキーは無効になっています。新しいキーを使うか、発行者にお問い合わせください。"},
	"key.full":      {english: "Too many apps are signed in with that key. End the access of one that you no longer use, then try again.", japanese: "このキーでサインインしているアプリが多すぎます。使っていないアプリのアクセスを取り消してから、もう一度お試しください。"},
	"wait.key":      {english: "Too many wrong keys were sent. Your key was not looked at: try again in %d seconds.", japanese: "誤ったキーが何度も送信されました。入力されたキーは確認していません。%d 秒後にもう一度お試しください。"},

	"server":            {english: "Something failed on this server. Try again in a minute.", japanese: "サーバーで問題が発生しました。1 分ほど待ってからもう一度お試しください。"},
	"method":            {english: "Use %s at this address.", japanese: "このアドレスでは %s を使ってください。"},
	"path":              {english: "There is nothing at this address.", japanese: "このアドレスには何もありません。"},
	"body":              {english: "Send the parameters as application/x-www-form-urlencoded, %d bytes at most.", japanese: "パラメーターは application/x-www-form-urlencoded で、%d バイト以内で送信してください。"},
	"twice":             {english: "The parameter %s was sent more than once. Send it once.", japanese: "パラメーター %s が複数回送信されました。1 回だけ送信してください。"},
	"long":              {english: "The request is too long: %d bytes at most.", japanese: "要求が長すぎます（最大 %d バイト）。"},
	"cross":             {english: "The form came from another site. Nothing was granted.", japanese: "別のサイトからフォームが送信されました。アクセスは許可されていません。"},
	"wait.document":     {english: "Too many sign-ins by new apps at once. Try again in %d seconds.", japanese: "新しいアプリによるサインインが集中しています。%d 秒後にもう一度お試しください。"},
	"wait.registration": {english: "Too many registrations. Try again in %d seconds, and register once, not for each request.", japanese: "登録が多すぎます。%d 秒後にもう一度お試しください。登録は要求ごとではなく 1 回だけ行ってください。"},

	"client.missing": {english: "The request doesn't say which app it is for (client_id).", japanese: "要求にアプリの指定（client_id）がありません。"},
	"client.unknown": {english: "This server doesn't know the app (client_id). If it registered itself, it has to register again at /register.", japanese: "このアプリ（client_id）は登録されていません。自己登録したアプリの場合は /register で登録し直す必要があります。"},
	"client.url":     {english: "The app's address (client_id) can't be used: %s. Its maker has to correct it.", japanese: "アプリのアドレス（client_id）を使用できません（%s）。アプリの開発元による修正が必要です。"},
	"client.host":    {english: "This server's operator doesn't let in apps from %s. Ask the operator, or use another app.", japanese: "このサーバーでは %s のアプリは許可されていません。運営者に問い合わせるか、別のアプリを使ってください。"},

	"document.unreachable": {english: "The description of the app at %s can't be fetched. Try again later; if it keeps failing, the app's maker has to mend it.", japanese: "%s にあるアプリの説明を取得できません。後でもう一度お試しください。続く場合はアプリの開発元による修正が必要です。"},
	"document.large":       {english: "The description of the app at %s is larger than 5 KB. The app's maker has to shorten it.", japanese: "%s にあるアプリの説明が 5 KB を超えています。アプリの開発元による修正が必要です。"},
	"document.invalid":     {english: "The description of the app at %s is not a client metadata document. The app's maker has to mend it.", japanese: "%s にあるアプリの説明がクライアントメタデータの形式ではありません。アプリの開発元による修正が必要です。"},
	"document.id":          {english: "The description of the app at %s is that of another client_id. The app's maker has to mend it.", japanese: "%s にあるアプリの説明は別の client_id のものです。アプリの開発元による修正が必要です。"},
	"document.secret":      {english: "The app at %s insists on authenticating itself (token_endpoint_auth_method). This server takes public clients with PKCE only: the app has to offer the method none.", japanese: "%s のアプリはクライアント認証を必須としています（token_endpoint_auth_method）。このサーバーは PKCE を使う公開クライアントだけに対応しており、アプリが none に対応する必要があります。"},
	"document.flow":        {english: "The app at %s doesn't offer the authorization code flow, the only one here.", japanese: "%s のアプリは、このサーバーが対応する唯一の方式である認可コードフローに対応していません。"},
	"document.redirects":   {english: "The description of the app at %s has no redirect URI that can be used. The app's maker has to mend it.", japanese: "%s にあるアプリの説明に使用可能なリダイレクト URI がありません。アプリの開発元による修正が必要です。"},

	"registration.off":       {english: "Apps can't register themselves at this server. Use a client ID metadata document, or ask the operator to register the app.", japanese: "このサーバーではアプリの自己登録はできません。クライアント ID メタデータ文書を使うか、運営者に登録を依頼してください。"},
	"registration.expired":   {english: "The app's registration is more than 30 days old. It has to register again at /register.", japanese: "アプリの登録から 30 日以上が経過しています。/register で登録し直す必要があります。"},
	"registration.json":      {english: "Send a JSON object of client metadata, %d bytes at most.", japanese: "クライアントメタデータの JSON オブジェクトを %d バイト以内で送信してください。"},
	"registration.flow":      {english: "grant_types must have authorization_code, the only way to sign in here.", japanese: "grant_types には authorization_code が必要です。"},
	"registration.long":      {english: "The client metadata are too long. Register fewer or shorter redirect URIs.", japanese: "クライアントメタデータが長すぎます。リダイレクト URI を減らすか短くしてください。"},
	"registration.redirects": {english: "redirect_uris must have 1 to %d redirect URIs.", japanese: "redirect_uris にはリダイレクト URI が 1 個以上 %d 個以下必要です。"},
	"redirect.kind":          {english: "A redirect URI must be https, http to 127.0.0.1, [::1] or localhost, or have a private-use scheme such as com.example.app, without fragment or user information.", japanese: "リダイレクト URI は https、127.0.0.1・[::1]・localhost への http、または com.example.app のような専用スキームで、フラグメントやユーザー情報を含まないものにしてください。"},
	"redirect.host":          {english: "This server's operator doesn't let self-registered apps be answered at %s. Ask the operator.", japanese: "このサーバーでは、自己登録したアプリの応答先として %s は許可されていません。運営者に問い合わせてください。"},
	"redirect.missing":       {english: "The request doesn't say where to return to (redirect_uri).", japanese: "要求に戻り先の指定（redirect_uri）がありません。"},
	"redirect.other":         {english: "The app asks to be answered at an address that is not its own (redirect_uri). This may be an attempt to steal your access.", japanese: "アプリが登録されていない戻り先（redirect_uri）を指定しています。アクセス権を盗もうとしている可能性があります。"},

	"response.type": {english: "response_type must be code.", japanese: "response_type は code にしてください。"},
	"response.mode": {english: "response_mode must be query, or left out.", japanese: "response_mode は query にするか、省略してください。"},
	"pkce":          {english: "Send code_challenge_method=S256 and a code_challenge of 43 characters (RFC 7636).", japanese: "code_challenge_method=S256 と 43 文字の code_challenge を送信してください（RFC 7636）。"},
	"object":        {english: "Send the parameters themselves: request and request_uri are not supported.", japanese: "request と request_uri には対応していません。パラメーターを直接送信してください。"},
	"prompt":        {english: "Somebody has to sign in: don't send prompt=none.", japanese: "サインインが必要です。prompt=none は送信しないでください。"},
	"target":        {english: "resource must be %s.", japanese: "resource は %s にしてください。"},
	"target.other":  {english: "The tokens are for the resource %s. Ask for that one, or sign in again for the other.", japanese: "トークンの対象は %s です。この resource を指定するか、もう一度サインインしてください。"},
	"denied":        {english: "The person denied access. Don't ask again unless they want to.", japanese: "アクセスは拒否されました。"},

	"grant.type":    {english: "grant_type must be authorization_code or refresh_token.", japanese: "grant_type は authorization_code または refresh_token にしてください。"},
	"token.missing": {english: "Send the parameter %s.", japanese: "パラメーター %s を送信してください。"},
	"token.unknown": {english: "This server doesn't know the code or refresh token. Start the sign-in again; don't retry with this one.", japanese: "認可コードまたはリフレッシュトークンが無効です。サインインからやり直してください。"},
	"token.expired": {english: "The authorization code has expired. Start the sign-in again; don't retry with this one.", japanese: "認可コードの有効期限が切れています。サインインからやり直してください。"},
	"token.ended":   {english: "This sign-in has ended. Start a new one; don't retry with this token.", japanese: "このサインインは終了しています。サインインからやり直してください。"},
	"token.reused":  {english: "The code or refresh token was used before, so it may be stolen: this sign-in and its tokens have ended. Start a new one.", japanese: "認可コードまたはリフレッシュトークンが再使用されたため、このサインインを終了しました。サインインからやり直してください。"},
	"token.key":     {english: "The API key behind this sign-in was revoked. Start the sign-in again with another key.", japanese: "サインインに使われた API キーは無効になっています。別のキーでサインインし直してください。"},
	"token.client":  {english: "The code or token is that of another client, or redirect_uri or code_verifier don't fit it. Start the sign-in again.", japanese: "クライアント、redirect_uri、code_verifier のいずれかが一致しません。サインインからやり直してください。"},
	"token.busy":    {english: "Several requests used this token at once. Try again in a second.", japanese: "同じトークンが同時に使用されました。1 秒後にもう一度お試しください。"},
	"protocol":      {english: "The request is not valid: %s Correct it; don't retry it as it is.", japanese: "要求が正しくありません: %s"},

	"issuer.elsewhere":   {english: "This server has no sign-in of its own. Read /.well-known/oauth-protected-resource for the authorization server to use.", japanese: "このサーバー自体にはサインイン機能がありません。/.well-known/oauth-protected-resource で認可サーバーを確認してください。"},
	"issuer.unreachable": {english: "The authorization server's metadata can't be fetched now. Try again in a minute.", japanese: "認可サーバーのメタデータを取得できません。1 分ほど待ってからもう一度お試しください。"},
}
