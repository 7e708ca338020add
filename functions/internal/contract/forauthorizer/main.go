// Command forauthorizer reads a merged contract and writes the part of it that the authorizer's zip holds.
package main

import (
	"fmt"
	"io"
	"os"

	"sekisho/functions/internal/contract"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "forauthorizer:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	doc, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	part, err := contract.ForAuthorizer(doc)
	if err != nil {
		return err
	}
	_, err = out.Write(part)
	return err
}
