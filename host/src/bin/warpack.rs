//! The `warpack` command.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    warpack::cli::run(std::env::args_os())
}
