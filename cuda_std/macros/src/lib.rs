//! The attribute of cuda_std that makes a function a kernel.
//!
//! It works on tokens and needs no parser: whatever precedes `fn` is kept, and the rest is kept as well.

use proc_macro::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};

/// Makes a function a kernel.
///
/// On `nvptx64` it becomes an entry point of its own name (`extern "ptx-kernel"`). On the host it stays the function
/// that it is, for the emulator to run.
///
/// `#[kernel(launch = EXPR)]` says for which block the kernel is compiled: `EXPR` is a constant with the fields `threads`
/// and `min_blocks`, both `u32`. On `nvptx64` it becomes the symbol `__launch_NAME`, two `u32`, of which
/// `cuda_builder` makes `.reqntid` and `.minnctapersm`; on the host a constant of that name.
///
/// A kernel has no generic parameters and returns nothing.
///
/// ```compile_fail
/// # use cuda_std_macros::kernel;
/// #[kernel]
/// unsafe fn answers() -> u32 { 42 }
/// ```
/// ```compile_fail
/// # use cuda_std_macros::kernel;
/// #[kernel]
/// unsafe fn generic<T>(value: T) {}
/// ```
/// ```compile_fail
/// # use cuda_std_macros::kernel;
/// #[kernel(threads = 256)]
/// unsafe fn shaped() {}
/// ```
/// ```compile_fail
/// # use cuda_std_macros::kernel;
/// #[kernel]
/// extern "C" fn foreign() {}
/// ```
/// ```compile_fail
/// # use cuda_std_macros::kernel;
/// #[kernel]
/// struct NoFunction;
/// ```
/// ```
/// # use cuda_std_macros::kernel;
/// #[kernel]
/// pub(crate) unsafe fn fine(from: *const u32, len: usize) {}
/// ```
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand(arguments, item) {
        Ok(output) => output,
        Err((message, span)) => compile_error(&message, span),
    }
}

type Error = (String, Span);

fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Error> {
    let launch = launch_argument(arguments)?;
    let (before, after) = split_at_fn(item)?;
    let name = check_signature(&after)?;

    let device = parse("#[cfg(target_arch = \"nvptx64\")] #[unsafe(no_mangle)]")
        .into_iter()
        .chain(before.clone())
        .chain(parse("extern \"ptx-kernel\""))
        .chain(after.clone());
    let host = parse("#[cfg(not(target_arch = \"nvptx64\"))]").into_iter().chain(before).chain(after);
    let mut output: TokenStream = device.chain(host).collect();

    if let Some(expression) = launch {
        // Parenthesised, so that any expression can be followed by a field.
        let expression = TokenTree::from(Group::new(Delimiter::Parenthesis, expression));
        let symbol = format!("__launch_{name}");
        let value = || {
            let fields = parse("let launch = &")
                .into_iter()
                .chain([expression.clone()])
                .chain(parse("; [launch.threads, launch.min_blocks]"))
                .collect();
            [TokenTree::from(Group::new(Delimiter::Brace, fields))].into_iter().chain(parse(";"))
        };
        let allow = "#[allow(non_upper_case_globals, unused_parens, dead_code)] #[doc(hidden)]";
        output.extend(parse(&format!(
            "#[cfg(target_arch = \"nvptx64\")] #[unsafe(no_mangle)] #[used] {allow} pub static {symbol}: [u32; 2] ="
        )));
        output.extend(value());
        output.extend(parse(&format!("#[cfg(not(target_arch = \"nvptx64\"))] {allow} const {symbol}: [u32; 2] =")));
        output.extend(value());
    }
    Ok(output)
}

/// The tokens of this text, which is ours and therefore lexes.
fn parse(text: &str) -> TokenStream {
    text.parse().expect("the macro's own text lexes")
}

/// `EXPR` of `launch = EXPR`, or nothing where there are no arguments.
fn launch_argument(arguments: TokenStream) -> Result<Option<TokenStream>, Error> {
    let mut tokens = arguments.into_iter();
    let Some(first) = tokens.next() else { return Ok(None) };
    let is_launch = matches!(&first, TokenTree::Ident(name) if name.to_string() == "launch");
    let is_equals = matches!(tokens.next(), Some(TokenTree::Punct(p)) if p.as_char() == '=' && p.spacing() == Spacing::Alone);
    let expression: TokenStream = tokens.collect();
    if is_launch && is_equals && !expression.is_empty() {
        Ok(Some(expression))
    } else {
        Err(("expected `#[kernel]` or `#[kernel(launch = EXPR)]`".into(), first.span()))
    }
}

/// The tokens in front of `fn`, and those from it on.
fn split_at_fn(item: TokenStream) -> Result<(Vec<TokenTree>, Vec<TokenTree>), Error> {
    let tokens: Vec<_> = item.into_iter().collect();
    let at = tokens
        .iter()
        .position(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))
        .ok_or_else(|| ("only a function can be a kernel".to_string(), Span::call_site()))?;
    for token in &tokens[..at] {
        if let TokenTree::Ident(word) = token
            && ["extern", "async", "const"].contains(&word.to_string().as_str())
        {
            return Err((format!("a kernel cannot be `{word}`"), word.span()));
        }
    }
    let after = tokens[at..].to_vec();
    Ok((tokens[..at].to_vec(), after))
}

/// The kernel's name, if the tokens from `fn` on are `fn name(parameters) { body }`.
fn check_signature(after: &[TokenTree]) -> Result<Ident, Error> {
    let Some(TokenTree::Ident(name)) = after.get(1) else {
        return Err(("a kernel needs a name".into(), Span::call_site()));
    };
    match after.get(2) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {}
        _ => return Err(("a kernel cannot be generic".into(), name.span())),
    }
    match after.get(3) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => Ok(name.clone()),
        _ => Err(("a kernel returns nothing and has no where clause".into(), name.span())),
    }
}

/// `compile_error!(message)` at `span`.
fn compile_error(message: &str, span: Span) -> TokenStream {
    parse(&format!("::core::compile_error!({message:?});"))
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}
