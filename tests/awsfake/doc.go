// Package awsfake is AWS on 127.0.0.1, for tests that apply Terraform: a moto server, and
// beside it a small stand-in of our own for the three services that moto lacks or answers
// with a 500: Budgets, Cost Explorer's anomaly detection, and Service Quotas.
//
// The stand-in keeps what it is given and gives it back; it checks nothing that Terraform
// checks itself. An operation that it does not know is an error, so that a test can't pass
// on silence.
package awsfake
