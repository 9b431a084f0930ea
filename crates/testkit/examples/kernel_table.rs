//! Prints what the packet scripts say of Linux: the end of `docs/packet-scripts.md`.
#![expect(clippy::print_stdout, reason = "it prints")]

fn main() -> Result<(), wasp_testkit::script::ParseError> {
    print!("{}", wasp_testkit::script::kernel_table(&wasp_testkit::script::files())?);
    Ok(())
}
