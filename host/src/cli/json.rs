//! The little JSON that the command writes.

use std::fmt;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Whole(u64),
    /// Shown with as many digits as lead back to it; what is not finite becomes `null`.
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl Json {
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let line = |f: &mut fmt::Formatter<'_>, depth: usize| write!(f, "\n{:1$}", "", 2 * depth);
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Number(value) if value.is_finite() => write!(f, "{value}"),
            Self::Number(_) => f.write_str("null"),
            Self::Text(text) => write_text(f, text),
            Self::List(values) if values.is_empty() => f.write_str("[]"),
            Self::List(values) => {
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index == 0 { "[" } else { "," })?;
                    line(f, depth + 1)?;
                    value.write(f, depth + 1)?;
                }
                line(f, depth)?;
                f.write_str("]")
            }
            Self::Object(members) if members.is_empty() => f.write_str("{}"),
            Self::Object(members) => {
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index == 0 { "{" } else { "," })?;
                    line(f, depth + 1)?;
                    write_text(f, name)?;
                    f.write_str(": ")?;
                    value.write(f, depth + 1)?;
                }
                line(f, depth)?;
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            control if control < ' ' || control == '\x7f' => write!(f, "\\u{:04x}", u32::from(control))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

/// Indented by two spaces.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_json() {
        for (value, shown) in [
            (Json::Null, "null"),
            (true.into(), "true"),
            (u64::MAX.into(), "18446744073709551615"),
            (0.1.into(), "0.1"),
            (1e300.into(), &format!("1{}", "0".repeat(300))),
            (f64::NAN.into(), "null"),
            (f64::INFINITY.into(), "null"),
            ("".into(), "\"\""),
            ("a\"b\\c\n\t\u{1}\u{7f}é\u{1F600}".into(), "\"a\\\"b\\\\c\\n\\u0009\\u0001\\u007fé\u{1F600}\""),
            (Json::List(vec![]), "[]"),
            (Json::Object(vec![]), "{}"),
            ([1u64, 2].into_iter().collect(), "[\n  1,\n  2\n]"),
            (
                Json::Object(vec![("a", None::<u64>.into()), ("b", Json::Object(vec![("c", 1u64.into())]))]),
                "{\n  \"a\": null,\n  \"b\": {\n    \"c\": 1\n  }\n}",
            ),
        ] {
            assert_eq!(value.to_string(), shown);
        }
    }
}
