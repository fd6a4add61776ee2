//! The `warpack` command.
fn main() {}
