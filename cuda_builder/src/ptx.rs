//! Reading and finishing PTX as text.
//!
//! Rust has no attribute for the block size that a kernel is compiled for. `#[kernel(launch = ..)]` of `cuda_std` leaves it in a static
//! `__launch_NAME` of two `u32`: threads of a block, and blocks that shall fit on a multiprocessor (0: no wish).
//! [`with_launch_bounds`] moves it to where `ptxas` looks for it, in front of the entry's body:
//!
//! ```text
//! .visible .global .align 4 .b8 __launch_scale[8] = {0, 2, 0, 0, 2};
//!
//! .visible .entry scale(                  .visible .entry scale(
//!     .param .u64 scale_param_0               .param .u64 scale_param_0
//! )                                  =>   )
//! {                                       .reqntid 512
//!                                         .minnctapersm 2
//!                                         {
//! ```

use crate::Error;
use std::collections::{BTreeMap, BTreeSet};

/// What the statics with block sizes begin with.
pub(crate) const LAUNCH: &str = "__launch_";

/// A device has blocks of up to this many threads.
const MAX_THREADS: u32 = 1024;

/// The kernels in LLVM IR, and the statics with their block sizes.
pub(crate) fn kernels_and_launches(ir: &str) -> Vec<String> {
    let symbol = |rest: &str| rest.split(|c: char| !is_of_name(c)).next().unwrap_or_default().to_owned();
    let name = |line: &str| match line.strip_prefix('@') {
        Some(global) => global.starts_with(LAUNCH).then(|| symbol(global)),
        None if line.starts_with("define ") && line.contains(" ptx_kernel ") => {
            line.split_once('@').map(|(_, rest)| symbol(rest))
        }
        None => None,
    };
    ir.lines().filter_map(name).collect()
}

/// The entries' names, in the order of the text.
pub fn kernels(ptx: &str) -> Vec<String> {
    functions(ptx).into_iter().filter(|function| function.entry).map(|function| function.name).collect()
}

/// Moves the block sizes from the `__launch_NAME` statics to the entries.
///
/// # Errors
/// [`Error::LaunchOfNoKernel`], [`Error::BlockSize`], [`Error::LaunchValue`].
pub fn with_launch_bounds(ptx: &str) -> Result<String, Error> {
    let mut bounds = BTreeMap::new();
    let mut rest = String::with_capacity(ptx.len());
    for line in ptx.lines() {
        match launch_of(line)? {
            Some((kernel, bound)) => {
                if !(1..=MAX_THREADS).contains(&bound[0]) {
                    return Err(Error::BlockSize { kernel, threads: bound[0] });
                }
                bounds.insert(kernel, bound);
            }
            // LLVM says at the beginning of the file which names are global.
            None if line.trim_start().starts_with(&format!("// .globl\t{LAUNCH}")) => {}
            None => {
                rest.push_str(line);
                rest.push('\n');
            }
        }
    }
    let mut finished = String::with_capacity(rest.len());
    let mut entry = None;
    for line in rest.lines() {
        entry = entry_of(line).or(entry);
        if let Some(bound) = entry.filter(|_| line == "{").and_then(|entry| bounds.remove(entry)) {
            finished.push_str(&format!(".reqntid {}\n", bound[0]));
            if bound[1] != 0 {
                finished.push_str(&format!(".minnctapersm {}\n", bound[1]));
            }
        }
        if line == "{" {
            entry = None;
        }
        finished.push_str(line);
        finished.push('\n');
    }
    match bounds.into_keys().next() {
        Some(name) => Err(Error::LaunchOfNoKernel { name }),
        None => Ok(finished),
    }
}

/// The kernels that can reach a `trap`, which is what is left of a panic.
pub fn kernels_that_trap(ptx: &str) -> Vec<String> {
    let functions = functions(ptx);
    let mut trapping: BTreeSet<&str> = BTreeSet::new();
    // Callers of what traps, until there is no new one.
    loop {
        let before = trapping.len();
        for function in &functions {
            if function.traps || function.calls.iter().any(|callee| trapping.contains(callee.as_str())) {
                trapping.insert(&function.name);
            }
        }
        if trapping.len() == before {
            break;
        }
    }
    let entries = functions.iter().filter(|function| function.entry && trapping.contains(function.name.as_str()));
    entries.map(|function| function.name.clone()).collect()
}

/// A function of PTX, as far as it matters here.
struct Function {
    name: String,
    entry: bool,
    traps: bool,
    calls: Vec<String>,
}

/// The functions with a body.
fn functions(ptx: &str) -> Vec<Function> {
    let mut functions: Vec<Function> = Vec::new();
    let mut declared = None;
    // Braces open: vectors and callers' blocks have them too, and inline assembly wherever it likes.
    let mut depth = 0;
    for line in ptx.lines() {
        let code = line.split("//").next().unwrap_or_default().trim();
        if depth == 0 {
            if let Some(name) = entry_of(line) {
                declared = Some((name, true));
            } else if let Some(name) = func_of(line) {
                declared = Some((name, false));
            } else if code == ";" {
                declared = None;
            }
        }
        let before = depth;
        depth += code.matches('{').count();
        depth = depth.saturating_sub(code.matches('}').count());
        match (before, declared, functions.last_mut()) {
            (0, Some((name, entry)), _) if depth > 0 => {
                functions.push(Function { name: name.into(), entry, traps: false, calls: Vec::new() });
                declared = None;
            }
            (1.., _, Some(function)) => {
                let mut words = code.split(|c: char| !is_of_name(c) && c != '.').filter(|word| !word.is_empty());
                function.traps |= words.clone().any(|word| word == "trap");
                if words.any(|word| word.starts_with("call")) {
                    let names = code.split(|c: char| !is_of_name(c)).filter(|word| !word.is_empty());
                    function.calls.extend(names.map(str::to_owned));
                }
            }
            _ => {}
        }
    }
    functions
}

fn entry_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix(".visible .entry ").or_else(|| line.strip_prefix(".entry "))?;
    name.split(|c: char| !is_of_name(c)).next()
}

/// The name in `.func (.param .b32 result) name(` or `.visible .func name(`.
fn func_of(line: &str) -> Option<&str> {
    let line = line.strip_prefix(".visible ").or_else(|| line.strip_prefix(".weak ")).unwrap_or(line);
    let rest = line.strip_prefix(".func")?.trim_start();
    let rest = if rest.starts_with('(') { rest.split_once(')')?.1.trim_start() } else { rest };
    rest.split(|c: char| !is_of_name(c)).next().filter(|name| !name.is_empty())
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Kernel and value of a line like `.visible .global .align 4 .b8 __launch_NAME[8] = {0, 2, 0, 0, 2};`. What a list leaves
/// off at its end is 0.
fn launch_of(line: &str) -> Result<Option<(String, [u32; 2])>, Error> {
    let Some((directives, rest)) = line.split_once(LAUNCH).filter(|(directives, _)| directives.contains(".global ")) else {
        return Ok(None);
    };
    let bad = || Error::LaunchValue { line: line.into() };
    let (name, rest) = rest.split_once('[').ok_or_else(bad)?;
    let (count, rest) = rest.split_once(']').ok_or_else(bad)?;
    let mut numbers = Vec::new();
    if let Some((_, list)) = rest.split_once('{') {
        let (list, _) = list.split_once('}').ok_or_else(bad)?;
        for number in list.split(',') {
            numbers.push(number.trim().parse::<u32>().map_err(|_| bad())?);
        }
    }
    numbers.resize(8, 0);
    let value = match (directives.contains(".b8 "), count) {
        (true, "8") if numbers.iter().all(|byte| *byte < 256) => {
            let word = |at: usize| (0..4).fold(0, |word, i| word | numbers[at + i] << (8 * i));
            [word(0), word(4)]
        }
        (false, "2") => [numbers[0], numbers[1]],
        _ => return Err(bad()),
    };
    Ok(Some((name.into(), value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.4
.target sm_80
.address_size 64

\t// .globl\tscale                  // -- Begin function scale
.func  (.param .b32 func_retval0) __unnamed_1
(
\t.param .b32 __unnamed_1_param_0
)
;
.visible .global .align 4 .b8 __launch_scale[8] = {0, 2, 0, 0, 2};
.visible .global .align 4 .b8 __launch_fill[8] = {32};
                                        // @scale
.visible .entry scale(
\t.param .u64 .ptr .align 1 scale_param_0
)
{
\t.reg .pred \t%p<2>;
\t{ // callseq 0, 0
\tcall.uni (retval0), __unnamed_1, (param0);
\t} // callseq 0
\tret;
}
.func  (.param .b32 func_retval0) __unnamed_1(
\t.param .b32 __unnamed_1_param_0
)                                       // -- Begin function
{
\ttrap; exit;
}
.visible .entry fill()               // @fill
{
\tret; // no trap
}
";

    #[test]
    fn block_sizes_move_to_their_entries() {
        let finished = with_launch_bounds(PTX).expect("sound");
        assert!(!finished.contains(LAUNCH));
        assert!(finished.contains("scale_param_0\n)\n.reqntid 512\n.minnctapersm 2\n{\n"), "{finished}");
        assert!(finished.contains(".entry fill()               // @fill\n.reqntid 32\n{\n"), "no wish, no line: {finished}");
        assert_eq!(finished.lines().count(), PTX.lines().count() - 2 + 3, "nothing else changed");
    }

    #[test]
    fn words_count_as_bytes_do() {
        let ptx = PTX.replace(".b8 __launch_scale[8] = {0, 2, 0, 0, 2}", ".b32 __launch_scale[2] = {512, 2}");
        assert_eq!(with_launch_bounds(&ptx).expect("sound"), with_launch_bounds(PTX).expect("sound"));
    }

    #[test]
    fn a_block_size_needs_its_kernel() {
        let ptx = PTX.replace("__launch_fill", "__launch_file");
        assert!(matches!(with_launch_bounds(&ptx), Err(Error::LaunchOfNoKernel { name }) if name == "file"));
    }

    #[test]
    fn impossible_block_sizes_are_refused() {
        let none = PTX.replace("__launch_fill[8] = {32}", "__launch_fill[8]");
        assert!(matches!(with_launch_bounds(&none), Err(Error::BlockSize { kernel, threads: 0 }) if kernel == "fill"));
        let many = PTX.replace("__launch_fill[8] = {32}", "__launch_fill[8] = {1, 4}");
        assert!(matches!(with_launch_bounds(&many), Err(Error::BlockSize { threads: 1025, .. })));
    }

    #[test]
    fn other_shapes_of_the_static_are_refused() {
        for (from, to) in [
            ("[8] = {32}", "[4] = {32}"),
            ("[8] = {32}", "[8] = {x}"),
            ("[8] = {32}", "[8] = {256}"),
            ("[8] = {32}", "[8] = {32"),
            (".b8 __launch_fill", ".b32 __launch_fill"),
        ] {
            let ptx = PTX.replace(&format!("__launch_fill{from}"), &format!("__launch_fill{to}")).replace(from, to);
            assert!(matches!(with_launch_bounds(&ptx), Err(Error::LaunchValue { .. })), "{from} -> {to}");
        }
    }

    #[test]
    fn panics_are_found_through_calls() {
        assert_eq!(kernels(PTX), ["scale", "fill"]);
        assert_eq!(kernels_that_trap(PTX), ["scale"], "through the function that it calls; a comment is no trap");
        assert!(kernels_that_trap(&PTX.replace("trap; exit;", "ret;")).is_empty());
    }

    #[test]
    fn braces_of_inline_assembly_end_no_function() {
        let ptx = PTX.replace("\tret; // no trap\n", "{\n.reg .b32 t;\n}\n\ttrap;\n");
        assert_eq!(kernels_that_trap(&ptx), ["scale", "fill"]);
    }

    #[test]
    fn kernels_are_found_in_ir() {
        let ir = "\
@__launch_scale = constant [8 x i8] c\"\\00\", align 4
@other = constant i32 0
define ptx_kernel void @scale(ptr noundef %0) unnamed_addr #0 {
define dso_local ptx_kernel void @fill() {
define internal fastcc i32 @scale_of(i32 %0) {
declare ptx_kernel void @elsewhere()
";
        assert_eq!(kernels_and_launches(ir), ["__launch_scale", "scale", "fill"]);
    }
}
