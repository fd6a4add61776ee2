//! What went wrong: a message for people, a code for scripts.

use crate::Error;
use std::error::Error as _;
use std::io::{self, Write};
use std::process::ExitCode;

/// An input is damaged, or is not what was said of it.
pub(super) const DATA: u8 = 1;
/// The command line asks for something that can't be.
pub(super) const USAGE: u8 = 2;
/// Reading or writing failed.
pub(super) const IO: u8 = 3;
/// A device is not there, or failed.
pub(super) const DEVICE: u8 = 4;

/// What a part of the command returns.
pub(super) type Outcome<T> = Result<T, Failure>;

/// Why the command, or its work on one input, failed.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    /// The place first, then the reason, then the reason's reason.
    lines: Vec<String>,
    closed_pipe: bool,
}

impl Failure {
    /// The command line asks for something that can't be.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, lines: vec![message.into()], closed_pipe: false }
    }

    /// What was asked for can't be: `error` says why.
    pub(super) fn refused(error: Error) -> Self {
        let failure = Self::from(error);
        let code = if failure.code == DATA { USAGE } else { failure.code };
        Self { code, ..failure }
    }

    /// The operating system refused to do `what`.
    pub(super) fn io(what: &str, error: io::Error) -> Self {
        let closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self { code: IO, lines: vec![format!("cannot {what}: {error}")], closed_pipe }
    }

    /// The same failure, which happened at `place`.
    pub(super) fn at(mut self, place: &str) -> Self {
        match self.lines.first_mut() {
            Some(first) => *first = format!("{place}: {first}"),
            None => self.lines.push(place.into()),
        }
        self
    }

    /// Whether whoever read our output has gone. That is nobody's fault and ends the command quietly.
    pub(super) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// The message in one line.
    pub(super) fn message(&self) -> String {
        self.lines.join(": ")
    }

    /// Writes the message to standard error: the chain of reasons, one a line.
    pub(super) fn print(&self) {
        let mut text = String::new();
        for (depth, line) in self.lines.iter().enumerate() {
            text.push_str(if depth == 0 { "warpack: " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
        // There is nowhere else to complain.
        let _ = io::stderr().write_all(text.as_bytes());
    }

    /// The same failure once its message was printed.
    pub(super) fn printed(self) -> Self {
        Self { lines: Vec::new(), ..self }
    }

    /// Prints what was not printed yet: the code to exit with.
    pub(super) fn report(self) -> ExitCode {
        if self.closed_pipe {
            // Ends as a program does that never heard of SIGPIPE; Rust's start-up code turned the signal off.
            let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
        } else {
            self.print();
        }
        ExitCode::from(self.code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut lines = vec![error.to_string()];
        let mut innermost = &error;
        while let Error::InBlock { source, .. } | Error::InChunk { source, .. } = innermost {
            innermost = source;
        }
        let mut source = error.source();
        while let Some(reason) = source {
            lines.push(reason.to_string());
            source = reason.source();
        }
        let code = match innermost {
            Error::Io { .. } => IO,
            Error::Cuda { .. } | Error::NoDevice { .. } => DEVICE,
            Error::Range { .. } => USAGE,
            _ => DATA,
        };
        let closed_pipe = matches!(innermost, Error::Io { kind: io::ErrorKind::BrokenPipe, .. });
        Self { code, lines, closed_pipe }
    }
}

/// Writes `text` to standard output.
pub(super) fn print(text: &str) -> Outcome<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::io("write to standard output", error))
}
