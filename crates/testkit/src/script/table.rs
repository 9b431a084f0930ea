//! What the scripts say of Linux, as a part of `docs/packet-scripts.md`.

use super::{Kernel, ParseError, Script, ScriptFile};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Markdown: how many scripts hold for Linux, where it differs, and why others are not run against it.
///
/// # Errors
/// One of the files holds no script.
pub fn kernel_table(files: &[ScriptFile]) -> Result<String, ParseError> {
    let mut held = 0;
    let mut differing = String::new();
    let mut skipped = BTreeMap::<String, usize>::new();
    for file in files {
        match Script::parse(&file.text)?.kernel {
            Kernel::Yes => held += 1,
            // Writing to a string does not fail.
            Kernel::Differs(difference) => {
                let _ = writeln!(differing, "| `{}` | {} |", file.name, difference.how);
            }
            Kernel::No(why) => *skipped.entry(why).or_default() += 1,
        }
    }
    let reasons = skipped.iter().map(|(why, count)| format!("| {why} | {count} |\n")).collect::<String>();
    Ok(format!(
        "Of {} scripts, {held} hold for Linux too. Where Linux departs from the RFC and from our endpoint, a test sees to it \
         that it still does:\n\n\
         | script | Linux |\n| --- | --- |\n{differing}\n\
         The others are not run against the kernel:\n\n\
         | because | scripts |\n| --- | --- |\n{reasons}",
        files.len()
    ))
}
