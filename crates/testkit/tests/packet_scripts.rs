//! Every script of `tests/packets`, against our endpoint in virtual time: a test each, named by its path.
#![expect(clippy::disallowed_methods, reason = "a test reads its files")]

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use wasp_testkit::script::{Script, Simulated, run};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/packets");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let trials = files.into_iter().map(|path| {
        let name = path.strip_prefix(&root).expect("it was found below").display().to_string();
        Trial::test(name.clone(), move || check(&name, &path))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("the directory of scripts") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn check(name: &str, path: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(path)?;
    let script = Script::parse(&text).map_err(|error| format!("{name}:{error}"))?;
    let mut stack = Simulated::new(&script)?;
    run(&script, &mut stack).map_err(|failure| format!("{name}:{failure}").into())
}
