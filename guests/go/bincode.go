//go:build wasip1

package host

import "encoding/binary"

// bincode 1 with its defaults, as far as the ABI uses it: little endian, integers of fixed width, a uint64 length before strings, byte
// vectors and maps, one byte before an optional value.

type encoder struct{ bytes []byte }

func (e *encoder) length(length int) {
	e.bytes = binary.LittleEndian.AppendUint64(e.bytes, uint64(length))
}

func (e *encoder) flag(flag bool) {
	var byte byte
	if flag {
		byte = 1
	}
	e.bytes = append(e.bytes, byte)
}

func (e *encoder) text(texts ...string) {
	for _, text := range texts {
		e.length(len(text))
		e.bytes = append(e.bytes, text...)
	}
}

// optional writes a string that is absent if it is empty.
func (e *encoder) optional(text string) {
	e.flag(text != "")
	if text != "" {
		e.text(text)
	}
}

// decoder takes values off the front. It panics if they are not there: the host breaks the ABI then.
type decoder struct{ rest []byte }

func (d *decoder) take(count uint64) []byte {
	if count > uint64(len(d.rest)) {
		panic("the host's value ends too early")
	}
	taken := d.rest[:count]
	d.rest = d.rest[count:]
	return taken
}

func (d *decoder) uint16() uint16 { return binary.LittleEndian.Uint16(d.take(2)) }

func (d *decoder) length() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }

func (d *decoder) blob() []byte { return d.take(d.length()) }
