package main

import (
	"fmt"
	"strconv"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/mcpserver"
)

// listingFlags say which tools lists name. They are pointers, so that --applied sees whether they
// were given.
type listingFlags struct {
	Listing       *string `help:"Which tools tools/list names: auto (the default: all, unless they would take more tokens than --listing-budget), all, or search (a few, with which the others are found)." enum:"auto,all,search" placeholder:"MODE"`
	ListingBudget *int    `help:"Tokens that a list of all tools may take with --listing auto; 10000 if left out." placeholder:"TOKENS"`
}

func (f listingFlags) check() error {
	if f.ListingBudget != nil && *f.ListingBudget < 1 {
		return fmt.Errorf("--listing-budget %d: give a number of tokens, 1 or more; --listing search is for lists that never name all tools", *f.ListingBudget)
	}
	return nil
}

// choose is for tools that cost so much, in answers of at most so many bytes.
func (f listingFlags) choose(all toolCost, answer int) listing {
	l := listing{Setting: mcpserver.ListAuto, Budget: mcpserver.DefaultListingTokens, AnswerBytes: answer}
	if f.Listing != nil {
		l.Setting = mcpserver.ListMode(*f.Listing)
	}
	if f.ListingBudget != nil {
		l.Budget = *f.ListingBudget
	}
	l.Mode = l.Setting.Choose(all.Tokens, l.Budget, all.Bytes, answer)
	return l
}

// set puts what was given into the environment of the functions.
func (f listingFlags) set(env map[string]string) {
	if f.Listing != nil {
		env[boot.Listing] = *f.Listing
	}
	if f.ListingBudget != nil {
		env[boot.ListingTokens] = strconv.Itoa(*f.ListingBudget)
	}
}
