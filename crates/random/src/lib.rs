//! Keyed random streams and the distributions drawn from them.
//!
//! Nothing in a run draws from a shared generator. Every draw belongs to a [`Key`], derived from the seed and the number
//! of the run, a [`Purpose`], and the entities it concerns, and is one of
//!
//! * a stateless hash of the key and an index ([`Key::draw`]), for decisions made packet by packet or connection by
//!   connection: they depend on no order of calls, so nothing added elsewhere can move them;
//! * a [`Stream`] seeded from the key, for bulk generation (file sets, request sequences).
//!
//! ```
//! use wasp_random::{Key, Purpose};
//!
//! let group = Key::root(1, 0).purpose(Purpose::Loss).name("homes");
//! let connection = group.entity(17).entity(3);
//! let lost = connection.unit(0) < 0.03; // the fate of the connection's first packet
//! # assert!(!lost);
//! ```

mod distribution;
mod key;
mod logarithm;
mod mix;
mod purpose;
mod stream;

pub use distribution::normal_quantile;
pub use key::Key;
pub use purpose::Purpose;
pub use stream::Stream;
