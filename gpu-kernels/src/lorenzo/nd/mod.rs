//! Lorenzo in two and three dimensions. What runs where is in `shared_types::lorenzo_nd`.
//!
//! | file | idea |
//! |---|---|
//! | `units` | aligned 16-byte units of an array of any length, and bytes shifted from lane to lane |
//! | `flat` | forward, any extents: every lane for itself |
//! | `plane` | forward, 2-D: tiles of rows in registers |
//! | `volume` | forward, 3-D: tiles that go from plane to plane |

pub mod flat;
pub mod plane;
mod units;
pub mod volume;

/// Repeats `$body` with `$i` as the constants 0 to `$n` - 1, so that arrays stay in registers.
#[cfg(target_arch = "nvptx64")]
macro_rules! times {
    (4, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3) };
    (5, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4) };
    (8, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4, 5, 6, 7) };
    (9, $i:ident => $body:expr) => { times!(@ $i, $body, 0, 1, 2, 3, 4, 5, 6, 7, 8) };
    (@ $i:ident, $body:expr, $($value:literal),*) => {{$({
        const $i: usize = $value;
        $body
    })*}};
}
/// The same as a loop: on the host, time to compile counts.
#[cfg(not(target_arch = "nvptx64"))]
macro_rules! times {
    ($n:literal, $i:ident => $body:expr) => {
        #[allow(non_snake_case, clippy::needless_range_loop, reason = "a constant on a device")]
        for $i in 0..$n {
            $body
        }
    };
}
use times;
