//! Every script of `tests/packets`, against our endpoint in virtual time: a test each, named by its path.

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;
use wasp_testkit::script::{Script, ScriptFile, Simulated, files, run};

fn main() -> ExitCode {
    let trials = files().into_iter().map(|file| Trial::test(file.name.clone(), move || check(&file)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn check(ScriptFile { name, text }: &ScriptFile) -> Result<(), Failed> {
    let script = Script::parse(text).map_err(|error| format!("{name}:{error}"))?;
    let mut stack = Simulated::new(&script)?;
    run(&script, &mut stack).map_err(|failure| format!("{name}:{failure}").into())
}
