//! What waits before a link, in the two forms that a scenario has.

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use wasp_net::queue::QueueConfig;
use wasp_units::Bytes;

/// The queue of a link: the room of a drop-tail queue in bytes, or a table with the `kind` of a discipline and its parameters.
#[derive(Clone, Copy, Debug)]
pub enum QueueOption {
    /// Room of a drop-tail queue.
    Bytes(Bytes),
    /// A discipline.
    Discipline(QueueConfig),
}

impl QueueOption {
    /// The queue as a link has it.
    pub(crate) const fn config(self) -> QueueConfig {
        match self {
            Self::Bytes(bytes) => QueueConfig::drop_tail(bytes),
            Self::Discipline(config) => config,
        }
    }
}

/// Written out, because an untagged enum would not name an unknown field of a discipline.
impl<'de> Deserialize<'de> for QueueOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeOrTable;

        impl<'de> Visitor<'de> for SizeOrTable {
            type Value = QueueOption;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"64KiB\", or a table with the kind of a queue discipline")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueOption, E> {
                text.parse().map(QueueOption::Bytes).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<QueueOption, A::Error> {
                QueueConfig::deserialize(MapAccessDeserializer::new(table)).map(QueueOption::Discipline)
            }
        }

        deserializer.deserialize_any(SizeOrTable)
    }
}

/// Every queue discipline as a scenario has it that says nothing more, for a test that holds them and the experiment file equal.
///
/// # Panics
/// Never: each name is one of a discipline.
#[must_use]
pub fn queue_defaults() -> Vec<QueueConfig> {
    let named = |kind| serde_json::from_value(serde_json::json!({ "kind": kind }));
    ["drop-tail", "red", "codel", "fq-codel", "pie"]
        .map(|kind| named(kind).expect("a discipline's name is a whole configuration"))
        .into()
}
