//! Sizes, read and shown.

/// Reads a number of bytes: `4096`, `64K`, `16M`, `16MiB` (powers of 1024) or `16MB` (powers of 1000).
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let refused = || format!("{text:?} is no number of bytes (4096, 64K, 16MiB, 1GB)");
    let number: u64 = number.parse().map_err(|_| refused())?;
    let unit = unit.to_ascii_lowercase();
    let (power, base) = match unit.as_bytes() {
        [] | [b'b'] => (0, 1),
        [prefix] | [prefix, b'i', b'b'] => (power(*prefix).ok_or_else(refused)?, 1024u64),
        [prefix, b'b'] => (power(*prefix).ok_or_else(refused)?, 1000),
        _ => return Err(refused()),
    };
    base.checked_pow(power).and_then(|unit| number.checked_mul(unit)).ok_or_else(|| format!("{text:?} is beyond 64 bits"))
}

fn power(prefix: u8) -> Option<u32> {
    b"kmgtpe".iter().position(|known| *known == prefix).map(|index| index as u32 + 1)
}

/// Reads a range of bytes: `START..END`, `START..` or `START+LENGTH`.
pub(super) fn parse_range(text: &str) -> Result<(u64, Option<u64>), String> {
    let refused = || format!("{text:?} is no range (START..END, START.., START+LENGTH)");
    if let Some((start, end)) = text.split_once("..") {
        let start = parse_bytes(start)?;
        let end = if end.is_empty() { None } else { Some(parse_bytes(end)?) };
        if end.is_some_and(|end| end < start) {
            return Err(format!("the range {text} ends before it starts"));
        }
        return Ok((start, end));
    }
    let (start, length) = text.split_once('+').ok_or_else(refused)?;
    let (start, length) = (parse_bytes(start)?, parse_bytes(length)?);
    let end = start.checked_add(length).ok_or_else(|| format!("the range {text} ends beyond 64 bits"))?;
    Ok((start, Some(end)))
}

/// Shows a number of bytes with three digits: `999 B`, `16.0 MiB`.
pub(super) fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // Above 999.5 the next unit reads better than four digits.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = match value {
        _ if unit == 0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// Plain bytes per coded byte.
pub(super) fn ratio(plain_bytes: u64, coded_bytes: u64) -> f64 {
    plain_bytes as f64 / coded_bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("7b", 7),
            ("64K", 65_536),
            ("64k", 65_536),
            ("16MiB", 16 << 20),
            ("1GB", 1_000_000_000),
            ("15E", 15 << 60),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for bad in ["", "M", "-1", "+1", "1.5M", "1 M", "1X", "1Mi", "1MiBs", "16E", "18446744073709551616"] {
            assert!(parse_bytes(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ranges_are_read() {
        for (text, range) in [
            ("0..10", (0, Some(10))),
            ("1K..2K", (1024, Some(2048))),
            ("5..", (5, None)),
            ("5+3", (5, Some(8))),
            ("3..3", (3, Some(3))),
        ] {
            assert_eq!(parse_range(text), Ok(range), "{text}");
        }
        for bad in ["", "5", "..5", "5..4", "5-6", "1+", "+1", "18446744073709551615+1", "1...2"] {
            assert!(parse_range(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (10_240, "10.0 KiB"),
            (16 << 20, "16.0 MiB"),
            (256 << 20, "256 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(show_bytes(bytes), shown, "{bytes}");
        }
    }
}
