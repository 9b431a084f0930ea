//! Any text is a packet script or an error that points into it; what is read and printed is read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wasp_testkit::script::Script;

fuzz_target!(|text: &str| {
    match Script::parse(text) {
        Err(error) => {
            let line = text.lines().nth(error.line - 1).unwrap_or_default();
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
        }
        Ok(script) => {
            let printed = script.to_string();
            let again = Script::parse(&printed).expect("what is printed is a script");
            assert_eq!(again.to_string(), printed);
        }
    }
});
