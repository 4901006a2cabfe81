package guest

import (
	"encoding/json"
	"fmt"
	"unsafe"
)

// Response is what the API server responds with. If the host cannot send a request, the status is 503.
type Response struct {
	Status int
	Header map[string][]string
	Body   []byte
}

// Err is nil for a response of success, otherwise it has the status and the API server's message.
func (r Response) Err() error {
	if r.Status >= 200 && r.Status < 300 {
		return nil
	}
	var status struct{ Message string }
	if json.Unmarshal(r.Body, &status) != nil || status.Message == "" {
		return fmt.Errorf("status %d", r.Status)
	}
	return fmt.Errorf("status %d: %s", r.Status, status.Message)
}

// Request sends a request with an optional JSON body and waits for the response. The URI is a path, with a query if need be; the host adds
// the API server's address and the module's credentials.
func Request(method, uri string, body any) Response {
	var e encoder
	e.text(method, uri)
	if body == nil {
		e.length(0)
		e.length(0)
	} else {
		text, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("a body that is no JSON: %v", err))
		}
		e.length(1)
		e.text("content-type")
		e.length(1)
		e.text("application/json")
		e.text(string(text))
	}
	id := abiRequest(unsafe.Pointer(&e.bytes[0]), uint32(len(e.bytes)))
	value := take(id)
	abandon(id)
	d := decoder{value}
	response := Response{Status: int(d.uint16()), Header: map[string][]string{}}
	for count := d.length(); count > 0; count-- {
		name := string(d.blob())
		for values := d.length(); values > 0; values-- {
			response.Header[name] = append(response.Header[name], string(d.blob()))
		}
	}
	response.Body = d.blob()
	return response
}
