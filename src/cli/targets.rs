//! The flags of commands that hold requests to targets.

use clap::Args;

use super::command::Targets;
use super::values::target;

/// Targets, given or saved.
#[derive(Debug, Clone, Args)]
pub struct TargetFlags {
    /// TTFT target that requests are held to, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub ttft: Option<f64>,
    /// TPOT target that requests are held to, instead of the saved one
    #[arg(long, value_name = "SECONDS", value_parser = target)]
    pub tpot: Option<f64>,
    /// Take the targets saved under this name
    #[arg(long, value_name = "NAME")]
    pub slo: Option<String>,
}

impl TargetFlags {
    /// Those that were given.
    pub fn given(&self) -> Targets {
        Targets::new(self.ttft, self.tpot)
    }
}
