//go:build wasip1

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unsafe"
)

// Transport sends requests to the API server by way of the host, which adds address and credentials: for rest.Config's Transport. A watch
// becomes one of the host's, which all of its modules share. Objects of watches are JSON, so set ContentType to application/json; watches
// of metadata only are refused.
var Transport http.RoundTripper = transport{}

type transport struct{}

func (transport) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	if flag := query.Get("watch"); flag == "true" || flag == "1" {
		return watch(request, query)
	}
	var body []byte
	if request.Body != nil {
		defer request.Body.Close()
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	return send(request, request.URL.RequestURI(), body)
}

func send(request *http.Request, uri string, body []byte) (*http.Response, error) {
	var e encoder
	e.text(request.Method, uri)
	header := request.Header.Clone()
	// What the host's connection adds by itself.
	header.Del("Accept-Encoding")
	e.length(len(header))
	for name, values := range header {
		e.text(name)
		e.length(len(values))
		e.text(values...)
	}
	e.text(string(body))
	id := abiRequest(unsafe.Pointer(&e.bytes[0]), uint32(len(e.bytes)))
	value, err := inboxOf(id).take(request.Context())
	if err != nil {
		delete(waiting, id)
		return nil, err
	}
	d := decoder{value}
	response := respond(request, int(d.uint16()))
	for count := d.length(); count > 0; count-- {
		name := string(d.blob())
		for values := d.length(); values > 0; values-- {
			response.Header.Add(name, string(d.blob()))
		}
	}
	text := d.blob()
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return response, nil
}

func respond(request *http.Request, status int) *http.Response {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return &http.Response{
		Status: text, StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: request,
	}
}

// collection is what a path of the API is about.
type collection struct{ group, version, namespace, plural string }

func (c collection) apiVersion() string { return strings.TrimPrefix(c.group+"/"+c.version, "/") }

func (c collection) discovery() string {
	if c.group == "" {
		return "/api/" + c.version
	}
	return "/apis/" + c.apiVersion()
}

func collectionOf(path string) (collection, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	c := collection{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		c.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		c.group, c.version, parts = parts[1], parts[2], parts[3:]
	}
	if len(parts) == 3 && parts[0] == "namespaces" {
		c.namespace, parts = parts[1], parts[2:]
	}
	c.plural = parts[0]
	return c, c.version != "" && len(parts) == 1
}

// kindsOf has the kinds of resources that were watched, by group, version and plural.
var kindsOf = map[string]string{}

// kindOf asks the API server: the host's watches name kinds, and paths do not. If it cannot be asked, its response is that of the watch.
func kindOf(request *http.Request, c collection) (string, *http.Response, error) {
	key := c.discovery() + "/" + c.plural
	if kind := kindsOf[key]; kind != "" {
		return kind, nil, nil
	}
	asking := (&http.Request{Method: "GET", Header: http.Header{"Accept": {"application/json"}}}).WithContext(request.Context())
	response, err := send(asking, c.discovery(), nil)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", response, err
	}
	var list struct{ Resources []struct{ Name, Kind string } }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return "", nil, err
	}
	for _, resource := range list.Resources {
		if resource.Name == c.plural {
			kindsOf[key] = resource.Kind
		}
	}
	if kindsOf[key] == "" {
		return "", respondStatus(request, http.StatusNotFound, "the server has no "+c.plural), nil
	}
	return kindsOf[key], nil, nil
}

func respondStatus(request *http.Request, code int, message string) *http.Response {
	status := map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": message}
	text, _ := json.Marshal(status)
	response := respond(request, code)
	response.Header.Set("Content-Type", "application/json")
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response
}

func watch(request *http.Request, query url.Values) (*http.Response, error) {
	c, isCollection := collectionOf(request.URL.Path)
	if !isCollection || strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return respondStatus(request, http.StatusNotAcceptable, "the host watches whole objects of a collection"), nil
	}
	kind, refusal, err := kindOf(request, c)
	if refusal != nil || err != nil {
		return refusal, err
	}
	var e encoder
	e.text(c.apiVersion(), c.group, kind, c.version)
	e.optional(c.namespace)
	e.text(query.Get("resourceVersion"))
	e.optional(query.Get("fieldSelector"))
	e.flag(false)
	e.optional(query.Get("labelSelector"))
	e.flag(true)
	id := abiWatch(unsafe.Pointer(&e.bytes[0]), uint32(len(e.bytes)))
	response := respond(request, http.StatusOK)
	response.Header.Set("Content-Type", "application/json")
	response.Body = &events{
		ctx: request.Context(), id: id, inbox: inboxOf(id), isListing: query.Get("sendInitialEvents") == "true",
	}
	return response, nil
}

// events is the body of a watch: an event a line.
type events struct {
	ctx   context.Context
	id    uint64
	inbox *inbox
	rest  []byte
	// isListing says that the bookmark that ends the initial state is still to come.
	isListing bool
}

func (e *events) Read(into []byte) (int, error) {
	if len(e.rest) == 0 {
		event, err := e.inbox.take(e.ctx)
		if err != nil {
			return 0, err
		}
		if event == nil {
			return 0, io.EOF
		}
		e.rest = append(e.completed(event), '\n')
	}
	count := copy(into, e.rest)
	e.rest = e.rest[count:]
	return count, nil
}

// completed adds to bookmarks and errors what clients need: the host says less of them than an API server does.
func (e *events) completed(text []byte) []byte {
	var event struct {
		Type   string         `json:"type"`
		Object map[string]any `json:"object"`
	}
	if bytes.HasPrefix(text, []byte(`{"type":"ADDED"`)) || json.Unmarshal(text, &event) != nil {
		return text
	}
	switch event.Type {
	case "ERROR":
		event.Object["kind"], event.Object["apiVersion"] = "Status", "v1"
	case "BOOKMARK":
		metadata, isThere := event.Object["metadata"].(map[string]any)
		if !e.isListing || !isThere {
			return text
		}
		metadata["annotations"] = map[string]string{"k8s.io/initial-events-end": "true"}
		e.isListing = false
	default:
		return text
	}
	if changed, err := json.Marshal(event); err == nil {
		return changed
	}
	return text
}

// Close ends the interest in a watch, also of a Read that waits. It does not end the watch in the host.
func (e *events) Close() error {
	e.inbox.values = nil
	e.inbox.end(e.id)
	e.inbox.wake()
	return nil
}
