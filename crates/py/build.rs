//! Tells the crate the profile of Cargo.toml that it is built with: Cargo tells build scripts only what that inherits from, but
//! names the folder of its outputs after it.

use std::ffi::OsStr;
use std::path::Path;

fn main() {
    let outputs = std::env::var_os("OUT_DIR").expect("Cargo says where to write");
    let of_profile = Path::new(&outputs)
        .ancestors()
        .skip_while(|folder| folder.file_name() != Some(OsStr::new("build")))
        .nth(1);
    let folder = of_profile
        .and_then(Path::file_name)
        .and_then(OsStr::to_str)
        .expect("Cargo's folders are as they were");
    println!("cargo::rustc-env=WASP_PROFILE={}", if folder == "debug" { "dev" } else { folder });
    println!("cargo::rerun-if-changed=build.rs");
}
