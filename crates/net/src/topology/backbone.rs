//! The linear backbone of Simmonds et al., "Towards Scalable Network Emulation" (2003), section 4.2: routers in series, hosts at each of them, and
//! the server before the first.
//!
//! Each link of the backbone takes a delay D, and so does the link between the server and the first router. With 0.2 ms there and back over an access
//! link, the hosts at router i, counted from 1, are 2 i D + 0.2 ms from the server.

use super::{RouterConfig, RouterLink};
use crate::{LinkConfig, Pair};
use std::sync::Arc;
use wasp_random::Key;

/// Routers in series.
#[derive(Clone, Debug)]
pub struct Backbone {
    /// How many routers.
    pub routers: usize,
    /// What each link between two of them does; forward is away from the server.
    pub directions: Pair<Arc<LinkConfig>>,
    /// For what is drawn for all that crosses the links: each takes what its name makes of it.
    pub key: Key,
}

/// The routers, `r1`, `r2` and so on, and the links between them: `b1` leads from `r1` to `r2`.
#[must_use]
pub fn backbone(description: &Backbone) -> (Vec<RouterConfig>, Vec<RouterLink>) {
    let Backbone { routers, directions, key } = description;
    let link = |number: usize| {
        let name = format!("b{number}");
        RouterLink {
            key: key.name(&name),
            name,
            ends: (number - 1, number),
            directions: directions.clone(),
            addresses: (None, None),
        }
    };
    let router = |number| RouterConfig { name: format!("r{number}"), ..RouterConfig::default() };
    ((1..=*routers).map(router).collect(), (1..*routers).map(link).collect())
}
