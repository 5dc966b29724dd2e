// A server's loop over a prefix cache, in Rust over the C interface, without crates: what server_loop.cpp does, and the
// same line. The declarations are those of <canopy/c/...> that the loop needs.
//
//   rustc -O server_loop.rs -L native=LIBRARY_FOLDER
//   server_loop ENGINE_FILE [PLUGIN_FOLDER]      (default: the plugins that were installed with libcanopy)

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::mem::{size_of, zeroed};
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

const REQUESTS: u32 = 2000;
const BATCH: usize = 512;
const ADMITTED: u32 = 8;
const CHUNK: u32 = 2048;
const STEP_US: u64 = 20_000;

const OK: i32 = 0;
const NO_ROOM: i32 = 1;

#[repr(C)]
struct EngineOptions {
    size: usize,
    yaml: *const c_char,
    name: *const c_char,
    registry: *mut c_void,
    least: Option<extern "C" fn(*mut c_void, *mut i64, usize) -> *const c_char>,
    least_context: *mut c_void,
}

#[repr(C)]
struct RequestSpec {
    size: usize,
    prompt: *const u32,
    prompt_tokens: usize,
    space: u32,
    priority: i32,
    hints: u64,
    output_limit: u32,
    min_uncached: u32,
    chunk: u32,
    retentions: u32,
    retention: *const c_void,
}

#[repr(C)]
struct RequestState {
    size: usize,
    id: u64,
    tokens: u32,
    matched: u32,
    full_length: u32,
    computed: u32,
    committed: u32,
    reserved: u32,
    retained: u32,
    ended: i32,
}

#[repr(C)]
struct EngineState {
    size: usize,
    page_size: u32,
    groups: u32,
    live_requests: u64,
    spaces: u64,
    checks: u64,
    violations: u64,
    digest: u64,
}

#[repr(C)]
struct Counters {
    size: usize,
    requests: u64,
    prompt_tokens: u64,
    hit_tokens: u64,
    evict_calls: u64,
    evicted_tokens: u64,
    finished: u64,
    aborted: u64,
    retracted: u64,
    repointed_pages: u64,
    resizes: u64,
    relocated_pages: u64,
    index_seconds: f64,
}

#[link(name = "canopy")]
extern "C" {
    fn canopy_error(to: *mut c_char, room: usize) -> usize;
    fn canopy_code_name(code: i32) -> *const c_char;
    fn canopy_registry_create(plugins: *const c_char, registry: *mut *mut c_void) -> i32;
    fn canopy_registry_destroy(registry: *mut c_void);
    fn canopy_engine_create(options: *const EngineOptions, engine: *mut *mut c_void) -> i32;
    fn canopy_engine_destroy(engine: *mut c_void) -> i32;
    fn canopy_engine_turn(engine: *mut c_void, now_us: u64) -> i32;
    fn canopy_engine_look(engine: *const c_void, state: *mut EngineState) -> i32;
    fn canopy_engine_counters(engine: *const c_void, counters: *mut Counters) -> i32;
    fn canopy_engine_begin(engine: *mut c_void, spec: *const RequestSpec, fetched: *mut c_void, request: *mut *mut c_void) -> i32;
    fn canopy_request_look(request: *const c_void, state: *mut RequestState) -> i32;
    fn canopy_request_reserve(request: *mut c_void, tokens: u32, soon: u32) -> i32;
    fn canopy_request_append(request: *mut c_void, tokens: *const u32, count: usize) -> i32;
    fn canopy_request_row(request: *const c_void, group: u32, from: usize, to: *mut u32, room: usize, length: *mut usize) -> i32;
    fn canopy_request_advance(request: *mut c_void, tokens: u32) -> i32;
    fn canopy_request_commit(request: *mut c_void, tokens: u32, replaced: *mut u32) -> i32;
    fn canopy_request_finish(request: *mut c_void, tokens: u32) -> i32;
    fn canopy_request_retract(request: *mut c_void) -> i32;
    fn canopy_request_resume(request: *mut c_void, resident: *mut u32) -> i32;
    fn canopy_request_destroy(request: *mut c_void);
}

fn need(code: i32) {
    if code == OK {
        return;
    }
    let mut sentence = [0 as c_char; 4096];
    unsafe {
        canopy_error(sentence.as_mut_ptr(), sentence.len());
        let name = CStr::from_ptr(canopy_code_name(code)).to_string_lossy();
        eprintln!("{}: {}", name, CStr::from_ptr(sentence.as_ptr()).to_string_lossy());
    }
    std::process::exit(2);
}

/// The requests: one of 40 system prompts, then tokens of their own; every 16th is long.
struct Arrivals {
    state: u64,
    number: u32,
}

impl Arrivals {
    fn random(&mut self, below: u32) -> u32 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) as u32 % below
    }
    fn next(&mut self) -> (Vec<u32>, u32) {
        let prefix = self.random(40);
        let own = (200 + self.random(3000)) * if self.number % 16 == 15 { 8 } else { 1 };
        let output = 1 + self.random(256);
        let first = 10_000_000 + 50_000 * self.number;
        let mut prompt: Vec<u32> = (0..1024 + 64 * prefix).map(|i| 100_000 * prefix + i).collect();
        prompt.extend((0..own).map(|i| first + i));
        self.number += 1;
        (prompt, output)
    }
}

struct Running {
    request: *mut c_void,
    length: u32,
    computed: u32,
    output: u32,
}

/// What became of a request in a step.
enum Step {
    Going,
    Ended,
    NoRoom,
}

/// Makes one step of a request: a chunk of its prefill, or a token.
fn advance(one: &mut Running, pages: &mut Vec<u32>, rows: &mut u64) -> Step {
    let left = one.length - one.computed;
    unsafe {
        if left == 0 && one.output == 0 {
            let mut count = 0;
            pages.resize(one.length as usize, 0);
            need(canopy_request_row(one.request, 0, 0, pages.as_mut_ptr(), pages.len(), &mut count));
            for page in &pages[..count] {
                *rows = rows.wrapping_mul(31).wrapping_add(*page as u64); // a kernel would read them
            }
            need(canopy_request_finish(one.request, one.length));
            canopy_request_destroy(one.request);
            return Step::Ended;
        }
        let to = if left > 0 { one.computed + left.min(CHUNK) } else { one.length + 1 };
        let reserved = canopy_request_reserve(one.request, to, u32::MAX);
        if reserved == NO_ROOM {
            need(canopy_request_retract(one.request));
            return Step::NoRoom;
        }
        need(reserved);
        if left > 0 {
            need(canopy_request_commit(one.request, to, null_mut()));
        } else {
            need(canopy_request_append(one.request, &one.length, 1)); // the model's choice
            need(canopy_request_advance(one.request, to));
            one.length += 1;
            one.output -= 1;
        }
        one.computed = to;
    }
    Step::Going
}

unsafe fn begin(engine: *mut c_void, (prompt, output): (Vec<u32>, u32)) -> Running {
    let spec = RequestSpec {
        size: size_of::<RequestSpec>(),
        prompt: prompt.as_ptr(),
        prompt_tokens: prompt.len(),
        output_limit: output,
        min_uncached: 1,
        chunk: CHUNK,
        ..zeroed()
    };
    let mut request = null_mut();
    need(canopy_engine_begin(engine, &spec, null_mut(), &mut request));
    let mut now = RequestState { size: size_of::<RequestState>(), ..zeroed() };
    need(canopy_request_look(request, &mut now));
    Running { request, length: prompt.len() as u32, computed: now.computed, output }
}

fn serve(engine: *mut c_void) -> u64 {
    let mut arrivals = Arrivals { state: 35, number: 0 };
    let (mut running, mut retracted): (Vec<Running>, VecDeque<Running>) = (Vec::new(), VecDeque::new());
    let (mut pages, mut rows, mut begun, mut step) = (Vec::new(), 0u64, 0, 0u64);
    while begun < REQUESTS || !running.is_empty() || !retracted.is_empty() {
        unsafe {
            need(canopy_engine_turn(engine, step * STEP_US));
            // Retracted requests are resumed, and new ones begin if there are none.
            for _ in 0..ADMITTED {
                if running.len() == BATCH {
                    break;
                }
                if let Some(mut one) = retracted.pop_front() {
                    need(canopy_request_resume(one.request, &mut one.computed));
                    running.push(one);
                } else if begun < REQUESTS {
                    running.push(begin(engine, arrivals.next()));
                    begun += 1;
                }
            }
        }
        let mut going = Vec::new();
        for mut one in running {
            match advance(&mut one, &mut pages, &mut rows) {
                Step::Going => going.push(one),
                Step::NoRoom => retracted.push_back(one),
                Step::Ended => (),
            }
        }
        running = going;
        step += 1;
    }
    rows
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 2 {
        eprintln!("usage: server_loop ENGINE_FILE [PLUGIN_FOLDER]");
        std::process::exit(2);
    }
    let text = std::fs::read(&arguments[1]).unwrap_or_else(|error| {
        eprintln!("{}: {}", arguments[1], error);
        std::process::exit(2);
    });
    let (yaml, name) = (CString::new(text).unwrap(), CString::new(arguments[1].as_str()).unwrap());
    let violations = unsafe {
        let (mut engine, mut registry) = (null_mut(), null_mut());
        if arguments.len() > 2 {
            let folder = CString::new(arguments[2].as_str()).unwrap();
            need(canopy_registry_create(folder.as_ptr(), &mut registry));
        }
        let options = EngineOptions {
            size: size_of::<EngineOptions>(),
            yaml: yaml.as_ptr(),
            name: name.as_ptr(),
            registry,
            least: None,
            least_context: null::<c_void>() as *mut c_void,
        };
        need(canopy_engine_create(&options, &mut engine));
        canopy_registry_destroy(registry);
        let rows = serve(engine);
        let mut counters = Counters { size: size_of::<Counters>(), ..zeroed() };
        let mut after = EngineState { size: size_of::<EngineState>(), ..zeroed() };
        need(canopy_engine_counters(engine, &mut counters));
        need(canopy_engine_look(engine, &mut after));
        println!(
            "{} requests, {} prompt tokens, {} reused, {} evicted, {} retracted, rows {:016x}, {} violations, digest {:016x}",
            counters.finished, counters.prompt_tokens, counters.hit_tokens, counters.evicted_tokens, counters.retracted,
            rows, after.violations, after.digest
        );
        need(canopy_engine_destroy(engine));
        after.violations
    };
    std::process::exit(if violations == 0 { 0 } else { 1 });
}
