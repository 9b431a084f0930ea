//! The parameters of SURGE.

use super::{EmbeddedCount, Locality, Matching, RequestSizes, SurgePreset};
use crate::error::within;
use crate::files::MOST_FILES;
use crate::requests::MOST_REQUESTS;
use crate::{Delay, OptionError, Sampling, Sizes, zipf};
use serde::{Deserialize, Serialize};
use wasp_units::Probability;

/// SURGE as it comes in a file or in JSON: a preset, and what differs from it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SurgeOptions {
    /// Where the parameters come from that are not given.
    pub preset: SurgePreset,
    /// Number of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
    /// Sum of the references to all files; the least popular one is asked for about once unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// The file of rank r is asked for in proportion to r^-slope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zipf_slope: Option<f64>,
    /// How sizes are drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// Sizes of all files; those of a class come before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Sizes>,
    /// Sizes of base files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_sizes: Option<Sizes>,
    /// Sizes of embedded files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded_sizes: Option<Sizes>,
    /// Sizes of loners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loner_sizes: Option<Sizes>,
    /// Shares of the classes among the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<Shares>,
    /// The distribution that the sizes of requests shall have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_sizes: Option<RequestSizes>,
    /// How popularity is matched with files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<Matching>,
    /// Files embedded in a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded: Option<EmbeddedCount>,
    /// The order of requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<Locality>,
    /// Time between pages: the inactive OFF time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive_off: Option<Delay>,
    /// Time between the files of a page: the active OFF time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_off: Option<Delay>,
}

/// Shares of the classes among the files; the rest are loners.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Files that have others embedded.
    pub base: Probability,
    /// Files that are embedded in others.
    pub embedded: Probability,
}

/// SURGE with every parameter set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Surge {
    /// Number of files.
    pub files: u32,
    /// Sum of the references to all files; `None` is as many as ask about once for the least popular one.
    pub requests: Option<u64>,
    /// Slope of the popularity over the rank, on logarithmic axes, without its sign.
    pub zipf_slope: f64,
    /// How sizes are drawn.
    pub sampling: Sampling,
    /// Sizes of base files.
    pub base_sizes: Sizes,
    /// Sizes of embedded files.
    pub embedded_sizes: Sizes,
    /// Sizes of loners.
    pub loner_sizes: Sizes,
    /// Shares of the classes among the files.
    pub shares: Shares,
    /// The distribution that the sizes of requests shall have.
    pub request_sizes: RequestSizes,
    /// How popularity is matched with files.
    pub matching: Matching,
    /// Files embedded in a page.
    pub embedded: EmbeddedCount,
    /// The order of requests.
    pub locality: Locality,
    /// Time between pages.
    pub inactive_off: Delay,
    /// Time between the files of a page.
    pub active_off: Delay,
}

impl SurgeOptions {
    /// Fills in the preset and checks all parameters.
    ///
    /// # Errors
    /// The first parameter that is impossible, by itself or beside the others.
    pub fn resolve(&self) -> Result<Surge, OptionError> {
        let given = self.clone();
        let preset = given.preset.surge();
        let no_pages = given.embedded == Some(EmbeddedCount::None {});
        if no_pages && given.shares.is_some() {
            return Err(OptionError::new("shares", "given", "without embedded files there are no classes"));
        }
        if no_pages && given.active_off.is_some() {
            return Err(OptionError::new(
                "active_off",
                "given",
                "without embedded files there is no time between the files of a page",
            ));
        }
        let none = Shares { base: Probability::ZERO, embedded: Probability::ZERO };
        let surge = Surge {
            files: given.files.unwrap_or(preset.files),
            requests: given.requests.or(preset.requests),
            zipf_slope: given.zipf_slope.unwrap_or(preset.zipf_slope),
            sampling: given.sampling.unwrap_or(preset.sampling),
            base_sizes: given.base_sizes.or(given.sizes).unwrap_or(preset.base_sizes),
            embedded_sizes: given.embedded_sizes.or(given.sizes).unwrap_or(preset.embedded_sizes),
            loner_sizes: given.loner_sizes.or(given.sizes).unwrap_or(preset.loner_sizes),
            shares: given.shares.unwrap_or(if no_pages { none } else { preset.shares }),
            request_sizes: given.request_sizes.unwrap_or(preset.request_sizes),
            matching: given.matching.unwrap_or(preset.matching),
            embedded: given.embedded.unwrap_or(preset.embedded),
            locality: given.locality.unwrap_or(preset.locality),
            inactive_off: given.inactive_off.unwrap_or(preset.inactive_off),
            active_off: given.active_off.unwrap_or(preset.active_off),
        };
        surge.check()?;
        Ok(surge)
    }
}

impl Surge {
    fn check(&self) -> Result<(), OptionError> {
        within("files", self.files, 1, MOST_FILES)?;
        within("zipf_slope", self.zipf_slope, 0.0, 5.0)?;
        self.total()?;
        for (name, sizes) in [
            ("base_sizes", self.base_sizes),
            ("embedded_sizes", self.embedded_sizes),
            ("loner_sizes", self.loner_sizes),
        ] {
            sizes.mixture().map_err(|error| error.within(name))?;
        }
        self.check_pages()?;
        self.request_sizes.check().map_err(|error| error.within("request_sizes"))?;
        self.locality.check().map_err(|error| error.within("locality"))?;
        self.inactive_off.check().map_err(|error| error.within("inactive_off"))?;
        self.active_off.check().map_err(|error| error.within("active_off"))
    }

    /// Sum of the references to all files that is aimed at.
    pub(super) fn total(&self) -> Result<u64, OptionError> {
        let least = u64::from(self.files);
        let few =
            format!("{least} files that are asked for at least once need from {least} to {MOST_REQUESTS}");
        let requests = match self.requests {
            Some(requests) => requests,
            None => zipf::natural_total(self.files as usize, self.zipf_slope),
        };
        if (least..=MOST_REQUESTS).contains(&requests) {
            Ok(requests)
        } else {
            Err(OptionError::new("requests", requests, few))
        }
    }

    fn check_pages(&self) -> Result<(), OptionError> {
        let Shares { base, embedded } = self.shares;
        if base.as_f64() + embedded.as_f64() > 1.0 + 1e-9 {
            let sum = format!("{base} base and {embedded} embedded");
            return Err(OptionError::new("shares", sum, "must be at most 100% together"));
        }
        let (bases, embedded_files) = self.class_sizes();
        if bases == 0 && embedded_files > 0 {
            return Err(OptionError::new(
                "shares.base",
                base,
                "embedded files need a base file to be embedded in",
            ));
        }
        self.embedded_counts().map(|_| ())
    }

    /// Probabilities of at most 0, 1, 2... files embedded in a base file: no more than the set has.
    pub(super) fn embedded_counts(&self) -> Result<Vec<f64>, OptionError> {
        let mut cumulative = self.embedded.cumulative().map_err(|error| error.within("embedded"))?;
        let (bases, embedded_files) = self.class_sizes();
        cumulative.truncate(embedded_files + 1);
        let all = *cumulative.last().unwrap_or(&0.0);
        if bases > 0 && all <= 1e-9 {
            let valid = format!("pages have more embedded files than the set, which has {embedded_files}");
            return Err(OptionError::new("embedded", "impossible", valid));
        }
        cumulative.iter_mut().for_each(|probability| *probability /= all);
        Ok(cumulative)
    }

    /// Numbers of base and of embedded files.
    pub(super) fn class_sizes(&self) -> (usize, usize) {
        let files = self.files as usize;
        let part = |share: Probability| libm::round(share.as_f64() * files as f64) as usize;
        let bases = part(self.shares.base).min(files);
        (bases, part(self.shares.embedded).min(files - bases))
    }
}
