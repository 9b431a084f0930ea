//! The parameters of ProWGen.

use super::Stack;
use crate::error::{positive, within};
use crate::files::MOST_FILES;
use crate::math::ln;
use crate::requests::MOST_REQUESTS;
use crate::{OptionError, Sampling, Sizes, Tail};
use serde::{Deserialize, Serialize};
use wasp_units::{Bytes, Probability};

/// A published set of parameters.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProwgenPreset {
    /// The web server of Simmonds et al. (2003, section 5.2.2): 3,000 objects of about 30 MB, median 3,600 B, mean 9,963 B,
    /// largest 1.4 MB, Zipf slope 0.8, static stack.
    #[default]
    IpTne,
    /// The defaults of ProWGen in WebTraff (Markatchev and Williamson 2002), for a proxy.
    Webtraff,
}

/// The body of the distribution of sizes: lognormal, by its mean and deviation before the tail cuts it off.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Mean.
    pub mean: Bytes,
    /// Standard deviation.
    pub deviation: Bytes,
}

/// How size and popularity of an object go together.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Correlation {
    /// Popular objects are small.
    Negative,
    /// Not at all.
    #[default]
    Zero,
    /// Popular objects are large.
    Positive,
}

/// Objects with many references are kept small, so that no single transfer dominates.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PopularLimit {
    /// Popular is an object with at least this many references.
    pub references: u32,
    /// It is no larger than this.
    pub size: Bytes,
}

/// ProWGen as it comes in a file or in JSON: a preset, and what differs from it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProwgenOptions {
    /// Where the parameters come from that are not given.
    pub preset: ProwgenPreset,
    /// Number of distinct objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<u32>,
    /// Number of requests that is aimed at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Share of the objects that are asked for once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_timers: Option<Probability>,
    /// The object of rank r is asked for in proportion to r^-slope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zipf_slope: Option<f64>,
    /// The body of the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The tail of the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<Tail>,
    /// No object is larger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<Bytes>,
    /// How sizes are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Between size and popularity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation: Option<Correlation>,
    /// What popular objects may weigh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub popular_limit: Option<PopularLimit>,
    /// The order of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
}

/// ProWGen with every parameter set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prowgen {
    /// Number of distinct objects.
    pub objects: u32,
    /// Number of requests that is aimed at.
    pub requests: u64,
    /// Share of the objects that are asked for once.
    pub one_timers: Probability,
    /// Slope of the popularity over the rank, on logarithmic axes, without its sign.
    pub zipf_slope: f64,
    /// The body of the sizes.
    pub body: Body,
    /// The tail of the sizes.
    pub tail: Tail,
    /// No object is larger.
    pub cap: Bytes,
    /// How sizes are drawn.
    pub sampling: Sampling,
    /// Between size and popularity.
    pub correlation: Correlation,
    /// What popular objects may weigh, where the correlation is zero.
    pub popular_limit: PopularLimit,
    /// The order of requests.
    pub stack: Stack,
}

const LIMIT: PopularLimit = PopularLimit { references: 100, size: Bytes::new(10_000) };

impl ProwgenPreset {
    fn prowgen(self) -> Prowgen {
        let percent = |percent: f64| Probability::from_f64(percent / 100.0).unwrap_or_default();
        let tail = |share| Tail { fraction: percent(share), shape: 1.2, scale: Bytes::new(10_000) };
        let body = Body { mean: Bytes::new(7_000), deviation: Bytes::new(11_000) };
        match self {
            Self::IpTne => Prowgen {
                objects: 3_000,
                // Not in the paper: some two minutes of its peak rate, and the share of one-timers that Arlitt and
                // Williamson (SIGMETRICS 1996) found on servers.
                requests: 150_000,
                one_timers: percent(33.0),
                zipf_slope: 0.8,
                body,
                // The share that gives the mean of the paper; the paper does not tell it.
                tail: tail(18.8),
                cap: Bytes::new(1_400_000),
                sampling: Sampling::Stratified,
                correlation: Correlation::Zero,
                popular_limit: LIMIT,
                stack: Stack::Static { depth: 1_000 },
            },
            Self::Webtraff => Prowgen {
                objects: 30_000,
                requests: 100_000,
                one_timers: percent(60.0),
                zipf_slope: 0.75,
                body,
                tail: tail(20.0),
                cap: Bytes::new(50_000_000),
                sampling: Sampling::Independent,
                correlation: Correlation::Zero,
                popular_limit: LIMIT,
                stack: Stack::Dynamic { depth: 1_000 },
            },
        }
    }
}

impl ProwgenOptions {
    /// Fills in the preset and checks all parameters.
    ///
    /// # Errors
    /// The first parameter that is impossible, by itself or beside the others.
    pub fn resolve(&self) -> Result<Prowgen, OptionError> {
        let preset = self.preset.prowgen();
        let correlation = self.correlation.unwrap_or(preset.correlation);
        if correlation != Correlation::Zero && self.popular_limit.is_some() {
            let valid = "belongs to correlation zero; any other settles the size of popular objects";
            return Err(OptionError::new("popular_limit", "given", valid));
        }
        let prowgen = Prowgen {
            objects: self.objects.unwrap_or(preset.objects),
            requests: self.requests.unwrap_or(preset.requests),
            one_timers: self.one_timers.unwrap_or(preset.one_timers),
            zipf_slope: self.zipf_slope.unwrap_or(preset.zipf_slope),
            body: self.body.unwrap_or(preset.body),
            tail: self.tail.unwrap_or(preset.tail),
            cap: self.cap.unwrap_or(preset.cap),
            sampling: self.sampling.unwrap_or(preset.sampling),
            correlation,
            popular_limit: self.popular_limit.unwrap_or(preset.popular_limit),
            stack: self.stack.unwrap_or(preset.stack),
        };
        prowgen.check()?;
        Ok(prowgen)
    }
}

impl Prowgen {
    fn check(&self) -> Result<(), OptionError> {
        within("objects", self.objects, 1, MOST_FILES)?;
        within("requests", self.requests, 1, MOST_REQUESTS)?;
        within("zipf_slope", self.zipf_slope, 0.0, 5.0)?;
        let once = u64::from(self.once());
        let several = u64::from(self.objects) - once;
        let least = once + 2 * several;
        if self.requests < least {
            let valid = format!("{once} one-timers and {several} others, twice each, need at least {least}");
            return Err(OptionError::new("requests", self.requests, valid));
        }
        if several == 0 && self.requests > once {
            let valid = format!("{once} objects that are asked for once give {once} requests");
            return Err(OptionError::new("requests", self.requests, valid));
        }
        within("popular_limit.references", self.popular_limit.references, 1, u32::MAX)?;
        self.sizes()?.mixture().map_err(|error| match error.field.as_str() {
            "mu" | "sigma" => OptionError { field: "body".to_owned(), ..error },
            _ => error,
        })?;
        self.stack.check().map_err(|error| error.within("stack"))
    }

    /// Number of objects that are asked for once.
    pub(super) fn once(&self) -> u32 {
        libm::round(self.one_timers.as_f64() * f64::from(self.objects)) as u32
    }

    /// The distribution of the sizes: the logarithm of the body has the variance ln(1 + (deviation/mean)^2), and a mean of
    /// ln(mean) less half of that.
    pub(super) fn sizes(&self) -> Result<Sizes, OptionError> {
        let (mean, deviation) = (self.body.mean.get() as f64, self.body.deviation.get() as f64);
        positive("body.mean", mean.min(1e6))?;
        positive("body.deviation", deviation.min(1e6))?;
        let variance = libm::log1p((deviation / mean) * (deviation / mean));
        let mu = ln(mean) - variance / 2.0;
        Ok(Sizes { mu, sigma: libm::sqrt(variance), tail: Some(self.tail), cap: self.cap })
    }
}
