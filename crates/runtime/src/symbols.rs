//! What is at an address of this process's code: the function's name and the line in its source, from the debug information of the
//! files that are loaded. Addresses in the server's own file may be given as offsets in it, as `system.trace_log` keeps them: they
//! hold over restarts, whatever the loader chose.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

/// Addresses whose symbols are kept.
const KNOWN_MAX: usize = 65_536;

/// What is at an address.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Symbol {
    /// The function's name as the linker has it; empty where there is none.
    pub name: String,
    /// `file:line`; the name of the loaded file where no line is known; empty where nothing is.
    pub line: String,
}

/// The symbol at an address or offset. The first time for a file this reads its debug information.
pub fn symbol(address: u64) -> Arc<Symbol> {
    static KNOWN: LazyLock<Mutex<HashMap<u64, Arc<Symbol>>>> = LazyLock::new(Mutex::default);
    if let Some(known) = KNOWN.lock().get(&address) {
        return known.clone();
    }
    let found = Arc::new(resolve(to_address(address)));
    let mut known = KNOWN.lock();
    if known.len() < KNOWN_MAX {
        known.insert(address, found.clone());
    }
    found
}

fn resolve(address: u64) -> Symbol {
    let mut found = Symbol::default();
    let Ok(address) = usize::try_from(address) else { return found };
    backtrace::resolve(address as *mut std::ffi::c_void, |symbol| {
        // Of functions inlined into each other the innermost comes first, and the last one is the one that was called.
        if let Some(name) = symbol.name() {
            found.name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        }
        if found.line.is_empty()
            && let Some(file) = symbol.filename()
        {
            found.line = format!("{}:{}", file.display(), symbol.lineno().unwrap_or(0));
        }
    });
    if found.line.is_empty() {
        found.line = object_of(address).unwrap_or_default();
    }
    found
}

/// A linker's name as people read it, without the hash that ends it; what is no such name stays.
pub fn demangle(name: &[u8]) -> String {
    format!("{:#}", backtrace::SymbolName::new(name))
}

/// An address in the server's own file as an offset in it; any other as it is.
pub fn to_offset(address: u64) -> u64 {
    let (base, end) = *OWN;
    if (base..end).contains(&address) { address - base } else { address }
}

fn to_address(offset: u64) -> u64 {
    let (base, end) = *OWN;
    if offset < end - base { base + offset } else { offset }
}

/// Where the server's own file is loaded.
static OWN: LazyLock<(u64, u64)> = LazyLock::new(|| {
    let mut own = (0, 0);
    each_object(|base, end, name| {
        if name.is_empty() && own == (0, 0) {
            own = (base, end);
        }
    });
    own
});

/// The file that an address is in.
fn object_of(address: usize) -> Option<String> {
    let mut found = None;
    each_object(|base, end, name| {
        if (base..end).contains(&(address as u64)) {
            let own = || std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
            found = Some(if name.is_empty() { own() } else { name.to_owned() });
        }
    });
    found
}

/// Calls `each` with the addresses and the path of every loaded file; the program's own path is empty.
fn each_object(mut each: impl FnMut(u64, u64, &str)) {
    type Each<'a> = &'a mut dyn FnMut(u64, u64, &str);
    extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, each: *mut libc::c_void) -> libc::c_int {
        // SAFETY: the loader gives a valid description, and `each` is the pointer that was passed below.
        let (info, each) = unsafe { (&*info, &mut *each.cast::<Each<'_>>()) };
        // SAFETY: the loader says how many headers there are.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        let end = loaded.map(|header| info.dlpi_addr + header.p_vaddr + header.p_memsz).max().unwrap_or(0);
        let name = if info.dlpi_name.is_null() {
            String::new()
        } else {
            // SAFETY: a name of the loader ends in a zero byte.
            unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) }.to_string_lossy().into_owned()
        };
        each(info.dlpi_addr, end, &name);
        0
    }
    let mut each: Each<'_> = &mut each;
    // SAFETY: the callback is called before this returns, with the pointer to `each`.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut each).cast()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn a_function_of_this_test() -> u64 {
        std::hint::black_box(a_function_of_this_test as *const () as u64)
    }

    #[test]
    fn own_code_has_names_and_lines() {
        let address = a_function_of_this_test() + 1;
        let offset = to_offset(address);
        assert!(offset < address && to_address(offset) == address);
        for address in [address, offset] {
            let symbol = symbol(address);
            assert!(demangle(symbol.name.as_bytes()).contains("a_function_of_this_test"), "{symbol:?}");
            assert!(symbol.line.contains("symbols.rs:"), "{symbol:?}");
        }
        assert_eq!(demangle(b"_ZN3foo3barE"), "foo::bar");
        assert_eq!(demangle(b"_ZN3foo3bar17h05af221e174051e9E"), "foo::bar");
        assert_eq!(demangle(b"__lll_lock_wait"), "__lll_lock_wait");
    }
}
