//! CLOG: every subchunk at the bit width of its largest word.

use super::Entry;

/// CLOG's row in the table of stages.
pub static ENTRY: Entry = Entry {
    name: "clog",
    id: 1,
    about: "every subchunk at the bit width of its largest word",
    from_options: |_| unimplemented!(),
    from_record: |_| unimplemented!(),
};
