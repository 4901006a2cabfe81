// Writes src/trace/pod-spec-1-30.ts: the fields of PodSpec in Kubernetes 1.30 as its Go types have them.
//
//	cd scripts/pod-spec-fields && go mod tidy && go run . > ../../src/trace/pod-spec-1-30.ts
//
// A field is required as the OpenAPI document says: neither omitempty nor marked +optional in its comment. That comment
// is read from the module's sources, since reflection does not have it.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	core "k8s.io/api/core/v1"
)

var optional = map[string]bool{}
var parsed = map[string]bool{}
var types = map[string][]string{}

func main() {
	visit(reflect.TypeOf(core.PodSpec{}))
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/api" {
				version = dep.Version
			}
		}
	}
	fmt.Printf(header, version)
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Printf("  %s:\n    %q,\n", name, strings.Join(types[name], " "))
	}
	fmt.Println("}")
}

const header = `/**
 * The fields of PodSpec in Kubernetes 1.30, the version SimKube is built against: what a round trip through its types keeps.
 *
 * Made from the Go types of k8s.io/api %s by scripts/pod-spec-fields; do not edit. Per type its fields, each
 *
 *     name[!shape][:Type]
 *
 * with ` + "`!`" + ` and its shape if the field is required, and a type if it holds a struct (` + "`T`" + `), a list (` + "`[]T`" + `) or a map (` + "`{}T`" + `) of
 * structs. A field without a type is kept whole.
 */
export const podSpecTypes: Readonly<Record<string, string>> = {
`

// visit records the fields of a struct type and of all struct types below it.
func visit(t reflect.Type) {
	if _, done := types[t.Name()]; done {
		return
	}
	types[t.Name()] = nil
	readComments(t)
	types[t.Name()] = fieldsOf(t)
}

func fieldsOf(t reflect.Type) []string {
	var fields []string
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		parts := strings.Split(field.Tag.Get("json"), ",")
		name, options := parts[0], parts[1:]
		if name == "" && contains(options, "inline") {
			readComments(field.Type)
			fields = append(fields, fieldsOf(field.Type)...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		required := !contains(options, "omitempty") && !optional[key(t, field.Name)]
		fields = append(fields, name+requirement(required, field.Type)+shape(field.Type))
	}
	sort.Strings(fields)
	return fields
}

func requirement(required bool, t reflect.Type) string {
	if !required {
		return ""
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "!text"
	case reflect.Bool:
		return "!boolean"
	case reflect.Slice:
		return "!list"
	case reflect.Map:
		return "!object"
	case reflect.Struct:
		switch t.Name() {
		case "Quantity":
			return "!text"
		case "IntOrString":
			return "!number"
		case "Time", "MicroTime":
			return "!time"
		}
		return "!object"
	case reflect.Int32, reflect.Int64:
		return "!number"
	}
	panic("a required field of " + t.String())
}

func shape(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return shape(t.Elem())
	case reflect.Slice:
		return prefixed("[]", t.Elem())
	case reflect.Map:
		return prefixed("{}", t.Elem())
	}
	return prefixed("", t)
}

func prefixed(prefix string, t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	switch t.Name() {
	case "Quantity", "IntOrString", "Time", "MicroTime", "FieldsV1":
		return ""
	}
	visit(t)
	return ":" + prefix + t.Name()
}

func key(t reflect.Type, field string) string { return t.PkgPath() + "." + t.Name() + "." + field }

// readComments notes which fields of a package's structs are marked +optional.
func readComments(t reflect.Type) {
	path := t.PkgPath()
	if parsed[path] {
		return
	}
	parsed[path] = true
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		panic(err)
	}
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "*.go"))
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range body.Fields.List {
				if !strings.Contains(field.Doc.Text(), "+optional") && !rawContains(field.Doc, "+optional") {
					continue
				}
				for _, name := range field.Names {
					optional[path+"."+spec.Name.Name+"."+name.Name] = true
				}
			}
			return true
		})
	}
}

func rawContains(group *ast.CommentGroup, text string) bool {
	if group == nil {
		return false
	}
	for _, comment := range group.List {
		if strings.Contains(comment.Text, text) {
			return true
		}
	}
	return false
}

func contains(list []string, wanted string) bool {
	for _, each := range list {
		if each == wanted {
			return true
		}
	}
	return false
}
