// A server's loop over a prefix cache, in Go over the C interface: what server_loop.cpp does, and the same line.
//
//	CGO_CFLAGS=-IINCLUDE_FOLDER CGO_LDFLAGS=-LLIBRARY_FOLDER go build server_loop.go
//	server_loop ENGINE_FILE [PLUGIN_FOLDER]      (default: the plugins that were installed with libcanopy)
package main

/*
#cgo LDFLAGS: -lcanopy
#include <canopy/c/canopy.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

const (
	requests = 2000
	batch    = 512
	admitted = 8
	chunk    = 2048
	stepUs   = 20000
	longest  = 32768
)

func need(code C.canopy_code) {
	if code == C.CANOPY_OK {
		return
	}
	var sentence [4096]C.char
	C.canopy_error(&sentence[0], 4096)
	fmt.Fprintf(os.Stderr, "%s: %s\n", C.GoString(C.canopy_code_name(code)), C.GoString(&sentence[0]))
	os.Exit(2)
}

// The requests: one of 40 system prompts, then tokens of their own; every 16th is long.
type arrivals struct {
	state  uint64
	number uint32
}

func (a *arrivals) random(below uint32) uint32 {
	a.state = a.state*6364136223846793005 + 1442695040888963407
	return uint32(a.state>>33) % below
}

func (a *arrivals) next(prompt []C.uint32_t) (length, output uint32) {
	prefix := a.random(40)
	shared := 1024 + 64*prefix
	own := 200 + a.random(3000)
	if a.number%16 == 15 {
		own *= 8
	}
	output = 1 + a.random(256)
	for i := uint32(0); i < shared; i++ {
		prompt[i] = C.uint32_t(100000*prefix + i)
	}
	for i := uint32(0); i < own; i++ {
		prompt[shared+i] = C.uint32_t(10000000 + 50000*a.number + i)
	}
	a.number++
	return shared + own, output
}

type running struct {
	request                  *C.canopy_request
	length, computed, output uint32 // tokens; output: those that it still generates
}

type server struct {
	engine    *C.canopy_engine
	arrivals  arrivals
	prompt    []C.uint32_t // memory of C: a struct that is passed on refers to it
	pages     []C.uint32_t
	running   []running
	retracted []running
	begun     int
	rows      uint64
}

func (s *server) begin() {
	var one running
	one.length, one.output = s.arrivals.next(s.prompt)
	spec := C.canopy_request_spec{
		prompt:        &s.prompt[0],
		prompt_tokens: C.size_t(one.length),
		output_limit:  C.uint32_t(one.output),
		min_uncached:  1,
		chunk:         chunk,
	}
	spec.size = C.size_t(unsafe.Sizeof(spec))
	need(C.canopy_engine_begin(s.engine, &spec, nil, &one.request))
	var now C.canopy_request_state
	now.size = C.size_t(unsafe.Sizeof(now))
	need(C.canopy_request_look(one.request, &now))
	one.computed = uint32(now.computed)
	s.running = append(s.running, one)
	s.begun++
}

// Resumes retracted requests, and begins new ones if there are none.
func (s *server) admit() {
	for i := 0; i < admitted && len(s.running) < batch; i++ {
		if len(s.retracted) > 0 {
			one := s.retracted[0]
			s.retracted = s.retracted[1:]
			var resident C.uint32_t
			need(C.canopy_request_resume(one.request, &resident))
			one.computed = uint32(resident)
			s.running = append(s.running, one)
		} else if s.begun < requests {
			s.begin()
		}
	}
}

// Makes one step of a request: a chunk of its prefill, or a token. Returns false if it then runs no longer.
func (s *server) advance(one *running) bool {
	left := one.length - one.computed
	if left == 0 && one.output == 0 {
		var count C.size_t
		need(C.canopy_request_row(one.request, 0, 0, &s.pages[0], longest, &count))
		for _, page := range s.pages[:count] {
			s.rows = s.rows*31 + uint64(page) // a kernel would read them
		}
		need(C.canopy_request_finish(one.request, C.uint32_t(one.length)))
		C.canopy_request_destroy(one.request)
		return false
	}
	to := one.length + 1
	if left > chunk {
		to = one.computed + chunk
	} else if left > 0 {
		to = one.length
	}
	reserved := C.canopy_request_reserve(one.request, C.uint32_t(to), C.UINT32_MAX)
	if reserved == C.CANOPY_NO_ROOM {
		need(C.canopy_request_retract(one.request))
		s.retracted = append(s.retracted, *one)
		return false
	}
	need(reserved)
	if left > 0 {
		need(C.canopy_request_commit(one.request, C.uint32_t(to), nil))
	} else {
		token := C.uint32_t(one.length) // the model's choice
		need(C.canopy_request_append(one.request, &token, 1))
		need(C.canopy_request_advance(one.request, C.uint32_t(to)))
		one.length++
		one.output--
	}
	one.computed = to
	return true
}

func (s *server) serve() {
	for step := 0; s.begun < requests || len(s.running) > 0 || len(s.retracted) > 0; step++ {
		need(C.canopy_engine_turn(s.engine, C.uint64_t(step*stepUs)))
		s.admit()
		going := s.running[:0]
		for i := range s.running {
			if s.advance(&s.running[i]) {
				going = append(going, s.running[i])
			}
		}
		s.running = going
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: server_loop ENGINE_FILE [PLUGIN_FOLDER]")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	options := (*C.canopy_engine_options)(C.calloc(1, C.sizeof_canopy_engine_options))
	defer C.free(unsafe.Pointer(options))
	options.size = C.sizeof_canopy_engine_options
	options.yaml = C.CString(string(text))
	options.name = C.CString(os.Args[1])
	var registry *C.canopy_registry
	if len(os.Args) > 2 {
		need(C.canopy_registry_create(C.CString(os.Args[2]), &registry))
	}
	options.registry = registry
	s := server{arrivals: arrivals{state: 35}}
	s.prompt = unsafe.Slice((*C.uint32_t)(C.calloc(longest, 4)), longest)
	s.pages = unsafe.Slice((*C.uint32_t)(C.calloc(longest, 4)), longest)
	need(C.canopy_engine_create(options, &s.engine))
	C.canopy_registry_destroy(registry)
	s.serve()

	var counters C.canopy_counters
	counters.size = C.size_t(unsafe.Sizeof(counters))
	need(C.canopy_engine_counters(s.engine, &counters))
	var after C.canopy_engine_state
	after.size = C.size_t(unsafe.Sizeof(after))
	need(C.canopy_engine_look(s.engine, &after))
	fmt.Printf("%d requests, %d prompt tokens, %d reused, %d evicted, %d retracted, rows %016x, %d violations, digest %016x\n",
		counters.finished, counters.prompt_tokens, counters.hit_tokens, counters.evicted_tokens, counters.retracted,
		s.rows, after.violations, after.digest)
	need(C.canopy_engine_destroy(s.engine))
	if after.violations != 0 {
		os.Exit(1)
	}
}
