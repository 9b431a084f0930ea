//! What a link does to packets beside carrying them.

mod loss;

pub use loss::{Chain, Loss, LossTally, Scope, Start};
