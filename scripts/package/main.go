// Command package writes a Lambda zip: an executable named bootstrap, the files that it reads, and
// nothing that differs between two builds of the same source.
//
//	package OUT.zip BINARY [FILE…]
package main

import (
	"archive/zip"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "package:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: package OUT.zip BINARY [FILE…]")
	}
	out, err := os.Create(args[0])
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	// Lambda only runs bootstrap if it is executable (aws-lambda-go#554).
	if err := add(archive, args[1], "bootstrap", 0o755); err != nil {
		return err
	}
	for _, file := range args[2:] {
		if err := add(archive, file, filepath.Base(file), 0o644); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return out.Close()
}

func add(archive *zip.Writer, file, name string, mode os.FileMode) error {
	content, err := os.Open(file)
	if err != nil {
		return err
	}
	defer content.Close()
	// 1980 is the earliest date in a zip.
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	header.SetMode(mode)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(entry, content)
	return err
}
