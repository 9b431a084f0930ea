//! The published parameters of SURGE and of its successors.

use super::{EmbeddedCount, Locality, Matching, RequestSizes, Shares, Surge};
use crate::{Delay, Sampling, Sizes, Tail};
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Duration, Probability};

/// A published set of parameters.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub enum SurgePreset {
    /// Barford and Crovella, SIGMETRICS 1998, and SURGE up to version 1.1: what Nahum et al. (2001) use.
    #[default]
    #[serde(rename = "surge98")]
    Surge98,
    /// The same with 1 % of the files in the tail, which gives 2,000 files of about 50 MB together, as in the Wide Area
    /// Web Measurement project (Barford and Crovella 1999).
    #[serde(rename = "surge-50MB")]
    Surge50Mb,
    /// Sizes by class of file: Barford and Crovella, "A Performance Evaluation of Hyper Text Transfer Protocols", 1999.
    #[serde(rename = "surge99")]
    Surge99,
    /// Pages of the most popular million sites: Pries, Magyari and Tran-Gia, "An HTTP Web Traffic Model Based on the Top
    /// One Million Visited Web Pages", 2012.
    #[serde(rename = "pries2012")]
    Pries2012,
}

const LARGEST: Bytes = Bytes::new(50_000_000);

impl SurgePreset {
    pub(super) fn surge(self) -> Surge {
        match self {
            Self::Surge98 => surge98(),
            Self::Surge50Mb => surge_50mb(),
            Self::Surge99 => surge99(),
            Self::Pries2012 => pries2012(),
        }
    }
}

fn percent(percent: u32) -> Probability {
    Probability::from_f64(f64::from(percent) / 100.0).unwrap_or_default()
}

fn surge98() -> Surge {
    let tail = Tail { fraction: percent(7), shape: 1.1, scale: Bytes::new(133_000) };
    let sizes = Sizes { mu: 9.357, sigma: 1.318, tail: Some(tail), cap: LARGEST };
    Surge {
        files: 2000,
        requests: None,
        zipf_slope: 1.0,
        sampling: Sampling::Independent,
        base_sizes: sizes,
        embedded_sizes: sizes,
        loner_sizes: sizes,
        shares: Shares { base: percent(30), embedded: percent(38) },
        request_sizes: RequestSizes { shape: 1.0, scale: Bytes::new(1000), cap: None },
        matching: Matching::Optimal,
        embedded: EmbeddedCount::Pareto { shape: 2.43, scale: 1.0, cap: 150, counts_base: false },
        locality: Locality::Lognormal { mu: 1.5, sigma: 0.8 },
        inactive_off: Delay::Pareto { shape: 1.5, scale: Duration::from_secs(1), cap: None },
        // The paper prints "alpha = 1.46, beta = 0.382": read as shape and scale, a mean of 0.35 s, since it speaks of gaps
        // below a second; the other way round the mean would be 5.5 s.
        active_off: Delay::Weibull { shape: 1.46, scale: Duration::from_millis(382) },
    }
}

fn surge_50mb() -> Surge {
    // Each seed gives about the same size in sum, which is what the preset is for.
    let mut surge = Surge { sampling: Sampling::Stratified, ..surge98() };
    for sizes in [&mut surge.base_sizes, &mut surge.embedded_sizes, &mut surge.loner_sizes] {
        sizes.tail = sizes.tail.map(|tail| Tail { fraction: percent(1), ..tail });
    }
    surge
}

fn surge99() -> Surge {
    let body = |mu, sigma| Sizes { mu, sigma, tail: None, cap: LARGEST };
    let tail = Tail { fraction: percent(7), shape: 1.0, scale: Bytes::new(10_000) };
    Surge {
        base_sizes: Sizes { tail: Some(tail), ..body(7.630, 1.001) },
        embedded_sizes: body(8.215, 1.460),
        loner_sizes: body(7.101, 1.928),
        shares: Shares { base: percent(30), embedded: percent(38) },
        inactive_off: Delay::Pareto { shape: 1.4, scale: Duration::from_secs(1), cap: None },
        ..surge98()
    }
}

fn pries2012() -> Surge {
    let body = |mu, sigma, cap| Sizes { mu, sigma, tail: None, cap: Bytes::new(cap) };
    Surge {
        base_sizes: body(7.902_72, 1.764_3, 2_000_000),
        embedded_sizes: body(7.513_84, 2.174_54, 6_000_000),
        loner_sizes: body(7.902_72, 1.764_3, 2_000_000),
        // A page has 5.2 files embedded in the mean, and no file is a page of its own.
        shares: Shares { base: percent(16), embedded: percent(84) },
        matching: Matching::Random,
        embedded: EmbeddedCount::Gamma { shape: 0.141_385, scale: 40.325_7, cap: 300 },
        active_off: Delay::Lognormal { mu: -1.248_92, sigma: 2.084_27 },
        ..surge98()
    }
}
