//! The TCP that the options of a scenario mean.

use super::ScenarioError;
use wasp_tcp::{Config, ConfigError, Options};

/// The TCP of an application that sets `TCP_NODELAY`, as browsers and servers do (Nielsen et al., SIGCOMM 1997, section "Nagle
/// interaction"), unless the options say that it does not.
pub(crate) fn resolve(options: &Options) -> Result<Config, ConfigError> {
    of_application(options).resolve()
}

fn of_application(options: &Options) -> Options {
    Options { nagle: Some(options.nagle.unwrap_or(false)), ..options.clone() }
}

/// Every constant of a TCP with these options, a JSON object, as such an object. A constant is left out where there is none:
/// [`Options::complete`] says where.
///
/// # Errors
/// The options are not valid.
pub fn tcp_constants(options: &str) -> Result<String, ScenarioError> {
    let invalid = |message: String| ScenarioError::new("tcp", message);
    let options: Options = serde_json::from_str(options).map_err(|error| invalid(error.to_string()))?;
    let complete = of_application(&options).complete().map_err(|error| invalid(error.to_string()))?;
    serde_json::to_string(&complete).map_err(|error| invalid(error.to_string()))
}
