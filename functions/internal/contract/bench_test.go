package contract

import (
	"fmt"
	"testing"
)

// large merges a contract of n operations, as `sekisho import` makes them: nested paths, a few
// arguments, a body or an answer that refers to a schema. So many paths share greedy ones.
func large(tb testing.TB, n int) []byte {
	text := ""
	for i := range n {
		path := fmt.Sprintf("/groups/{group_id}/k%d/{item_id}", i)
		text += operation([]string{"get", "put", "delete"}[i%3], path, fmt.Sprintf("orders.n%d", i),
			"summary: Work on an item of a group",
			"description: Reads or changes an item of a group, with everything that it refers to. Ask for details only where you need them.",
			`parameters:
        - { name: group_id, in: path, required: true, description: The group., schema: { type: string, minLength: 1 } }
        - { name: item_id, in: path, required: true, description: The item., schema: { type: integer, minimum: 1 } }
        - { name: expand, in: query, description: What to answer in full., schema: { type: array, items: { type: string, enum: [owner, parts, history] } } }
        - { name: page_size, in: query, description: Results per page., schema: { type: integer, minimum: 1, maximum: 100, default: 20 }, x-sekisho-name: pageSize }`,
			`responses: { "200": { description: The item., content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } } } }`,
			`x-sekisho: { backend: orders, units: 1, tool: true, annotations: { readOnlyHint: true, openWorldHint: true } }`)
	}
	doc, err := merge(tb, tools(text)+`components: { schemas: { Item: { type: object, properties: { id: { type: integer }, name: { type: string, description: What people call it. }, parts: { type: array, items: { type: object, properties: { id: { type: integer }, amount: { type: number } } } } } } } }
`)
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// BenchmarkLoad: what a cold start reads of the default contract, and of one with 1,000
// operations. The authorizer parses it and finds one operation, the relay also reads that one's
// schemas and call, and mcp those of the tools that it lists, all of them at most.
func BenchmarkLoad(b *testing.B) {
	for name, doc := range map[string][]byte{"default": document, "1000": large(b, 1000)} {
		read := func(b *testing.B, use func(*API) error) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				api, err := Parse(doc)
				if err != nil {
					b.Fatal(err)
				}
				if err := use(api); err != nil {
					b.Fatal(err)
				}
			}
		}
		some := func(api *API) *Operation {
			op, _ := api.Match("GET", map[string]string{"default": "/v1/postal/1000001", "1000": "/groups/7/k33/7"}[name])
			return op
		}
		b.Run("authorizer/"+name, func(b *testing.B) {
			read(b, func(api *API) error {
				if some(api) == nil {
					return fmt.Errorf("not found")
				}
				return nil
			})
		})
		b.Run("relay/"+name, func(b *testing.B) {
			read(b, func(api *API) error {
				if _, err := some(api).Call(); err != nil {
					return err
				}
				return some(api).CheckSchemas()
			})
		})
		b.Run("mcp/"+name, func(b *testing.B) {
			read(b, func(api *API) error {
				for _, op := range api.Tools() {
					if _, err := op.Schemas(); err != nil {
						return err
					}
				}
				return nil
			})
		})
		b.Run("compiled/"+name, func(b *testing.B) { read(b, (*API).CheckSchemas) })
	}
}
