package main

import (
	"testing"

	"github.com/pgidem/pgidem/examples/frameworks/internal/contract"
)

func TestContract(t *testing.T) {
	contract.Test(t, routes, contract.Patterns{Items: "/v1/orders/:order/items", Charges: "/v1/orders/:order/charges"})
}

func TestProgram(t *testing.T) { contract.Program(t) }
