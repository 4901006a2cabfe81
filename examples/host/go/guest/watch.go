package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"os"
	"time"
	"unsafe"
)

// Selection says which objects to watch.
type Selection struct {
	// Group is empty for the core group.
	Group, Version, Kind string
	// Plural is the resource's name in paths.
	Plural string
	// Namespace is empty for all namespaces.
	Namespace     string
	LabelSelector string
}

func (s Selection) apiVersion() string {
	if s.Group == "" {
		return s.Version
	}
	return s.Group + "/" + s.Version
}

func (s Selection) path() string {
	path := "/apis/" + s.apiVersion()
	if s.Group == "" {
		path = "/api/" + s.Version
	}
	if s.Namespace != "" {
		path += "/namespaces/" + s.Namespace
	}
	return path + "/" + s.Plural
}

// EventType says what an Event tells.
type EventType int

const (
	// Listed brings everything that is there. Other objects, of which the controller heard before, are gone.
	Listed EventType = iota
	// Applied brings one object that was created or has changed.
	Applied
	// Deleted brings the last state of one object.
	Deleted
)

// Event is what a watch tells its controller.
type Event[Object any] struct {
	Type    EventType
	Objects []Object
}

// pauseAfterSilence is the time before a watch that follows one without a single value: a host that ends each watch at once must not be
// asked in a busy loop.
const pauseAfterSilence = time.Second

var errExpired = errors.New("the API server no longer has that version")

// watch is a watch under way.
type watch[Object any] struct {
	selection Selection
	// version is the one up to which everything was heard.
	version string
	backoff Backoff
}

// Watch never ends: it lists, watches from the list's version, watches again where a watch ended, and lists again when the API server no
// longer has that version. Failures are repeated after growing delays. The first event is the list.
func Watch[Object any](selection Selection) iter.Seq[Event[Object]] {
	return func(yield func(Event[Object]) bool) {
		w := watch[Object]{selection: selection}
		for {
			objects, err := w.list()
			if err != nil {
				w.pause("cannot be listed", err)
				continue
			}
			if !yield(Event[Object]{Listed, objects}) {
				return
			}
			for !errors.Is(err, errExpired) {
				var isWanted bool
				if isWanted, err = w.follow(yield); !isWanted {
					return
				}
				if err != nil {
					w.pause("cannot be watched from version "+w.version, err)
				}
			}
		}
	}
}

func (w *watch[Object]) pause(what string, err error) {
	pause := w.backoff.Next()
	fmt.Fprintf(os.Stderr, "%s %s: %v; next attempt in %v\n", w.selection.Plural, what, err, pause)
	Sleep(pause)
}

func (w *watch[Object]) list() ([]Object, error) {
	var objects []Object
	for next := ""; ; {
		query := url.Values{"limit": {"500"}}
		if w.selection.LabelSelector != "" {
			query.Set("labelSelector", w.selection.LabelSelector)
		}
		if next != "" {
			query.Set("continue", next)
		}
		response := Request("GET", w.selection.path()+"?"+query.Encode(), nil)
		if err := response.Err(); err != nil {
			return nil, err
		}
		var page struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []Object
		}
		if err := json.Unmarshal(response.Body, &page); err != nil {
			return nil, err
		}
		objects = append(objects, page.Items...)
		w.version, next = page.Metadata.ResourceVersion, page.Metadata.Continue
		if next == "" {
			return objects, nil
		}
	}
}

// follow watches once, until the watch ends or fails, or the events are no longer wanted.
func (w *watch[Object]) follow(yield func(Event[Object]) bool) (isWanted bool, err error) {
	var e encoder
	s := w.selection
	e.text(s.apiVersion(), s.Group, s.Kind, s.Version)
	e.optional(s.Namespace)
	e.text(w.version)
	e.optional("")
	e.flag(false)
	e.optional(s.LabelSelector)
	e.flag(true)
	id := abiWatch(unsafe.Pointer(&e.bytes[0]), uint32(len(e.bytes)))
	defer abandon(id)
	for hasHeard := false; ; hasHeard = true {
		value := take(id)
		if value == nil {
			if !hasHeard {
				Sleep(pauseAfterSilence)
			}
			return true, nil
		}
		event, err := w.receive(value)
		if err != nil {
			return true, err
		}
		if event != nil && !yield(*event) {
			return false, nil
		}
	}
}

// receive returns what a value of the watch tells, if the controller has to know.
func (w *watch[Object]) receive(value []byte) (*Event[Object], error) {
	var facts struct {
		Type   string
		Object struct {
			Metadata struct{ ResourceVersion string }
			Code     int
			Message  string
		}
	}
	if err := json.Unmarshal(value, &facts); err != nil {
		return nil, fmt.Errorf("%w: %w", errExpired, err)
	}
	event := Event[Object]{Type: Applied}
	switch facts.Type {
	case "ADDED", "MODIFIED":
	case "DELETED":
		event.Type = Deleted
	case "BOOKMARK":
		w.heardUpTo(facts.Object.Metadata.ResourceVersion)
		return nil, nil
	default:
		if facts.Object.Code == 410 {
			return nil, errExpired
		}
		return nil, fmt.Errorf("%s %d %s", facts.Type, facts.Object.Code, facts.Object.Message)
	}
	var typed struct{ Object Object }
	if err := json.Unmarshal(value, &typed); err != nil {
		return nil, fmt.Errorf("%w: %w", errExpired, err)
	}
	event.Objects = []Object{typed.Object}
	w.heardUpTo(facts.Object.Metadata.ResourceVersion)
	return &event, nil
}

func (w *watch[Object]) heardUpTo(version string) {
	w.version = version
	w.backoff.Reset()
}
