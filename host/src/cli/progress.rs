//! One line on a terminal that says how far the work is.

use super::units::show_bytes;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is drawn anew.
const INTERVAL: Duration = Duration::from_millis(100);
/// Work that is over sooner needs no line.
const DELAY: Duration = Duration::from_millis(300);

/// The line. It goes away when this is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    name: String,
    total_bytes: Option<u64>,
    done_bytes: u64,
    start: Instant,
    /// When it is drawn next; never where nobody looks.
    next: Option<Instant>,
    drawn: bool,
}

impl Progress {
    /// Work on `name`, of `total_bytes` where that is known. It shows on standard error if that is a terminal and `quiet` does not
    /// forbid it.
    pub(super) fn new(name: &str, total_bytes: Option<u64>, quiet: bool) -> Self {
        let start = Instant::now();
        let next = (!quiet && io::stderr().is_terminal()).then(|| start + DELAY);
        Self { name: name.into(), total_bytes, done_bytes: 0, start, next, drawn: false }
    }

    /// `bytes` more are done.
    pub(super) fn add(&mut self, bytes: u64) {
        self.done_bytes += bytes;
        let Some(next) = self.next else { return };
        let now = Instant::now();
        if now >= next {
            self.next = Some(now + INTERVAL);
            self.drawn = true;
            // A terminal that has gone away is no reason to stop.
            let _ = write!(io::stderr(), "\r{}\x1b[K", self.line(now - self.start));
        }
    }

    /// How long the work has taken so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn line(&self, elapsed: Duration) -> String {
        let speed = self.done_bytes as f64 / elapsed.as_secs_f64().max(1e-9);
        let done = show_bytes(self.done_bytes);
        let speed_text = show_bytes(speed as u64);
        let name = self.name.rsplit('/').next().unwrap_or_default();
        match self.total_bytes {
            Some(total) if total > 0 => {
                let percent = (self.done_bytes as f64 / total as f64 * 100.0).min(100.0);
                let left = (total.saturating_sub(self.done_bytes)) as f64 / speed.max(1.0);
                format!("{name}: {percent:3.0} %, {done} of {}, {speed_text}/s, {left:.0} s left", show_bytes(total))
            }
            _ => format!("{name}: {done}, {speed_text}/s"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_it_is() {
        let mut progress = Progress::new("some/file.raw", Some(1 << 20), true);
        progress.add(1 << 18);
        let line = progress.line(Duration::from_secs(1));
        assert_eq!(line, "file.raw:  25 %, 256 KiB of 1.00 MiB, 256 KiB/s, 3 s left");
        let mut progress = Progress::new("standard input", None, true);
        progress.add(1000);
        assert_eq!(progress.line(Duration::from_secs(2)), "standard input: 0.98 KiB, 500 B/s");
        assert!(!progress.drawn, "quiet");
    }
}
