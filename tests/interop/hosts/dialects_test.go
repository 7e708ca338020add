//go:build interop

package hosts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// anthropic is Anthropic's messages.
type anthropic struct{}

func (anthropic) read(body []byte, _ string) (asked, error) {
	var in struct {
		Stream bool
		Tools  []struct {
			Name, Description string
			InputSchema       json.RawMessage `json:"input_schema"`
		}
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return asked{}, err
	}
	a := asked{stream: in.Stream}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offered{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	for _, message := range in.Messages {
		var blocks []struct {
			Type, ID  string
			ToolUseID string `json:"tool_use_id"`
			Content   json.RawMessage
			IsError   bool `json:"is_error"`
		}
		if json.Unmarshal(message.Content, &blocks) != nil {
			continue // a plain text
		}
		for _, b := range blocks {
			a.called(b.ID)
			if b.Type == "tool_result" && turnOf(b.ToolUseID) == a.turns-1 {
				a.results = append(a.results, given{text(b.Content), mark(b.IsError)})
			}
		}
	}
	return a, nil
}

// called notes a call of the model's in the conversation.
func (a *asked) called(id string) {
	if turn := turnOf(id); turn >= a.turns {
		a.turns, a.results = turn+1, nil
	}
}

func mark(isError bool) string {
	if isError {
		return "error"
	}
	return "ok"
}

// text is the content of a result: a text, or a list of parts of which some are texts.
func text(content json.RawMessage) string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain
	}
	var parts []struct {
		Type string
		Text *string
	}
	if json.Unmarshal(content, &parts) != nil {
		return string(content)
	}
	var all []string
	for _, p := range parts {
		if p.Text == nil {
			all = append(all, "["+p.Type+"]")
			continue
		}
		all = append(all, *p.Text)
	}
	return strings.Join(all, "\n")
}

func (anthropic) write(w http.ResponseWriter, stream bool, s said) error {
	blocks, reason := []object{}, "tool_use"
	for _, c := range s.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": c.Arguments})
	}
	if len(blocks) == 0 {
		blocks, reason = append(blocks, object{"type": "text", "text": s.text}), "end_turn"
	}
	message := object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": modelName, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 1000, "output_tokens": 10},
	}
	if !stream {
		reply(w, message)
		return nil
	}
	e := newEvents(w)
	message["content"], message["stop_reason"] = []object{}, nil
	e.send("message_start", object{"type": "message_start", "message": message})
	for i, b := range blocks {
		delta := object{"type": "text_delta", "text": s.text}
		if b["type"] == "tool_use" {
			delta = object{"type": "input_json_delta", "partial_json": s.calls[i].arguments()}
			b["input"] = object{}
		} else {
			b["text"] = ""
		}
		e.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": b})
		e.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		e.send("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 10}})
	e.send("message_stop", object{"type": "message_stop"})
	return nil
}

// chat is OpenAI's chat completions, which many others speak too. It has no mark for errors.
type chat struct{}

type chatCall struct {
	ID string
}

func (chat) read(body []byte, _ string) (asked, error) {
	var in struct {
		Stream bool
		Tools  []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		Messages []struct {
			Content    json.RawMessage
			ToolCalls  []chatCall `json:"tool_calls"`
			ToolCallID string     `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return asked{}, err
	}
	a := asked{stream: in.Stream}
	for _, t := range in.Tools {
		a.tools = append(a.tools, offered{Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters})
	}
	for _, m := range in.Messages {
		for _, c := range m.ToolCalls {
			a.called(c.ID)
		}
		if m.ToolCallID != "" && turnOf(m.ToolCallID) == a.turns-1 {
			a.results = append(a.results, given{Text: text(m.Content)})
		}
	}
	return a, nil
}

func (chat) write(w http.ResponseWriter, stream bool, s said) error {
	message, reason := object{"role": "assistant", "content": s.text}, "stop"
	if len(s.calls) > 0 {
		var calls []object
		for i, c := range s.calls {
			calls = append(calls, object{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments()}})
		}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls"
	}
	whole := func(kind, member string, reason any) object {
		return object{
			"id": "chatcmpl-1", "object": kind, "created": 1, "model": modelName,
			"choices": []object{{"index": 0, member: message, "finish_reason": reason}},
		}
	}
	usage := object{"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
	if !stream {
		answer := whole("chat.completion", "message", reason)
		answer["usage"] = usage
		reply(w, answer)
		return nil
	}
	e := newEvents(w)
	e.send("", whole("chat.completion.chunk", "delta", nil))
	message = object{}
	e.send("", whole("chat.completion.chunk", "delta", reason))
	last := whole("chat.completion.chunk", "delta", nil)
	last["choices"], last["usage"] = []any{}, usage
	e.send("", last)
	_, err := fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}

// responses is OpenAI's newer API.
type responses struct{}

type responsesTool struct {
	Type, Name, Description string
	Parameters              json.RawMessage
	Tools                   []responsesTool
}

func (responses) read(body []byte, _ string) (asked, error) {
	var in struct {
		Stream bool
		Tools  []responsesTool
		Input  json.RawMessage
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return asked{}, err
	}
	a := asked{stream: in.Stream}
	for _, t := range in.Tools {
		if t.Type != "namespace" {
			a.tools = append(a.tools, offered{Name: t.Name, Description: t.Description, Schema: t.Parameters})
		}
		for _, inner := range t.Tools {
			a.tools = append(a.tools, offered{Name: inner.Name, Description: inner.Description, Schema: inner.Parameters, namespace: t.Name})
		}
	}
	var items []struct {
		Type, Name string
		CallID     string `json:"call_id"`
		Output     json.RawMessage
	}
	if json.Unmarshal(in.Input, &items) != nil {
		return a, nil // a plain text
	}
	for _, i := range items {
		switch i.Type {
		case "function_call":
			a.called(i.CallID)
		case "function_call_output":
			if turnOf(i.CallID) == a.turns-1 {
				a.results = append(a.results, given{Text: text(i.Output)})
			}
		}
	}
	return a, nil
}

func (responses) write(w http.ResponseWriter, stream bool, s said) error {
	var items []object
	for i, c := range s.calls {
		item := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": c.id, "name": c.name,
			"arguments": c.arguments(), "status": "completed",
		}
		if c.namespace != "" {
			item["namespace"] = c.namespace
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		items = []object{{
			"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": s.text, "annotations": []any{}}},
		}}
	}
	response := object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": modelName, "output": items,
		"usage": object{
			"input_tokens": 1000, "output_tokens": 10, "total_tokens": 1010,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0},
		},
	}
	if !stream {
		reply(w, response)
		return nil
	}
	e, n := newEvents(w), 0
	send := func(kind string, members object) {
		members["type"], members["sequence_number"] = kind, n
		n++
		e.send(kind, members)
	}
	send("response.created", object{"response": object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": modelName, "output": []any{}}})
	for i, item := range items {
		send("response.output_item.added", object{"output_index": i, "item": item})
		if item["type"] == "message" {
			send("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": s.text})
		} else {
			send("response.function_call_arguments.done", object{"output_index": i, "item_id": item["id"], "arguments": item["arguments"], "name": item["name"]})
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": response})
	return nil
}

// gemini is Google's generateContent. Its calls need no ids, so turns are counted.
type gemini struct{}

type geminiPart struct {
	FunctionCall     *struct{ Name string }
	FunctionResponse *struct {
		Name     string
		Response json.RawMessage
	}
}

func (gemini) read(body []byte, path string) (asked, error) {
	var in struct {
		Tools []struct {
			FunctionDeclarations []struct {
				Name, Description    string
				Parameters           json.RawMessage
				ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
			}
		}
		Contents []struct{ Parts []geminiPart }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return asked{}, err
	}
	a := asked{stream: strings.HasSuffix(path, ":streamGenerateContent")}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			o := offered{Name: f.Name, Description: f.Description, Schema: f.Parameters}
			if len(f.ParametersJSONSchema) > 0 {
				o.Schema = f.ParametersJSONSchema
			}
			a.tools = append(a.tools, o)
		}
	}
	for _, c := range in.Contents {
		calls := false
		for _, p := range c.Parts {
			calls = calls || p.FunctionCall != nil
			if p.FunctionResponse != nil {
				a.results = append(a.results, geminiResult(p.FunctionResponse.Response))
			}
		}
		if calls {
			a.turns, a.results = a.turns+1, nil
		}
	}
	return a, nil
}

// geminiResult: by convention, output is the result and error a failure.
func geminiResult(response json.RawMessage) given {
	var members map[string]json.RawMessage
	if json.Unmarshal(response, &members) == nil && len(members) == 1 {
		for name, value := range members {
			switch name {
			case "output":
				return given{text(value), "ok"}
			case "error":
				return given{text(value), "error"}
			}
		}
	}
	return given{Text: string(response)}
}

func (gemini) write(w http.ResponseWriter, stream bool, s said) error {
	var parts []object
	for _, c := range s.calls {
		parts = append(parts, object{"functionCall": object{"id": c.id, "name": c.name, "args": c.Arguments}})
	}
	if len(parts) == 0 {
		parts = []object{{"text": s.text}}
	}
	whole := object{
		"candidates":    []object{{"content": object{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010},
		"modelVersion":  modelName,
	}
	if !stream {
		reply(w, whole)
		return nil
	}
	newEvents(w).send("", whole)
	return nil
}
