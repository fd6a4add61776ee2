//! The `warpack` command. One file per subcommand; what they share:
//!
//! | file | idea |
//! |---|---|
//! | `failure` | what went wrong, as a message and an exit code |
//! | `source` | an input: a file or standard input |
//! | `target` | an output: appears whole or not at all |
//! | `progress` | a line on a terminal |
//! | `json`, `units` | how numbers are shown |

#![forbid(unsafe_code)]

mod bench;
mod codec;
mod compare;
mod compress;
mod decompress;
mod devices;
mod failure;
mod info;
mod json;
mod progress;
mod source;
mod stages;
mod target;
mod tiles;
mod units;
mod verify;

use crate::backend::{Backend, BackendChoice};
use clap::{Args, Parser, Subcommand};
use failure::{Failure, Outcome};
use std::ffi::OsString;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  an input is damaged, or is not what was said of it
  2  the command line asks for something that can't be
  3  reading or writing failed
  4  a device is not there, or failed
With several inputs all are tried; the first failure gives the code.

Environment: NO_COLOR turns colours off.";

/// Lossless compression of structured arrays, on CPUs and NVIDIA GPUs, with the same bytes from both.
#[derive(Debug, Parser)]
#[command(name = "warpack", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compress(compress::Arguments),
    Decompress(decompress::Arguments),
    Verify(verify::Arguments),
    Info(info::Arguments),
    Devices(devices::Arguments),
    Bench(bench::Arguments),
}

/// Where the work runs, for every subcommand that works.
#[derive(Debug, Args)]
struct Machine {
    /// Where the codec runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value_t)]
    backend: BackendChoice,
    /// Threads of the CPU to use [default: all]
    #[arg(short = 'T', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Machine {
    /// Opens the backend and limits the threads.
    fn open(&self) -> Outcome<Backend> {
        self.limit_threads()?;
        Ok(self.backend.open()?)
    }

    fn limit_threads(&self) -> Outcome<()> {
        let Some(threads) = self.threads else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global();
        pool.map_err(|error| Failure::io("start threads", std::io::Error::other(error)))
    }
}

/// Runs the command that `arguments` (the program's name first) ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come this way too, with code 0.
            let code = error.exit_code();
            return match error.print() {
                Ok(()) => ExitCode::from(code as u8),
                Err(_) => ExitCode::from(failure::IO),
            };
        }
    };
    target::clean_up_on_signals();
    target::survive_file_size_limit();
    let outcome = match cli.command {
        Command::Compress(arguments) => compress::run(&arguments),
        Command::Decompress(arguments) => decompress::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Does `work` for each of `inputs`; a failure is reported and does not keep the others from their turn.
fn for_each<T>(inputs: &[T], mut work: impl FnMut(&T) -> Outcome<()>) -> Outcome<()> {
    let mut first = None;
    for input in inputs {
        match work(input) {
            Ok(()) => {}
            Err(failure) if failure.is_closed_pipe() => return Err(failure),
            Err(failure) => {
                failure.print();
                first.get_or_insert(failure.printed());
            }
        }
    }
    first.map_or(Ok(()), Err)
}
