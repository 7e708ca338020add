// Command package writes a Lambda zip: an executable named bootstrap, and nothing that differs
// between two builds of the same source.
//
//	package BINARY OUT.zip
package main

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: package BINARY OUT.zip")
	}
	binary, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer binary.Close()
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	// Lambda only runs bootstrap if it is executable (aws-lambda-go#554). 1980 is the earliest
	// date in a zip.
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(0o755)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(entry, binary); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return out.Close()
}
