//go:build tools

// Package tools names the schema registry that the local stack builds, so that go.mod pins it.
package tools

import _ "github.com/axonops/axonops-schema-registry/cmd/schema-registry"
