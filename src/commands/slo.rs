//! `slo`: save, show and remove latency targets.

use anyhow::{Result, bail};

use super::{Teller, answer, open_to_read};
use crate::cli::{Global, OutputFlags, Slo};
use crate::exit::Exit;
use crate::output::Format;
use crate::store::{self, slos};

pub(super) fn run(global: &Global, action: &Slo) -> Result<Exit> {
    let teller = Teller::new(global);
    match action {
        Slo::Set { name, ttft, tpot } => {
            let connection = store::open_to_write(&global.db, global.busy_timeout)?;
            let slo = slos::Slo { name: name.clone(), ttft_s: *ttft, tpot_s: *tpot };
            slos::save(&connection, &slo).map_err(|error| store::explain(&global.db, error))?;
            store::close(connection)?;
            teller.note(&format!("SLO {name:?}: TTFT {ttft} s, TPOT {tpot} s"));
        }
        Slo::Show => {
            let flags = OutputFlags { format: Format::Table, output: None };
            let sql = "select name, ttft_s, tpot_s, saved_at from slos order by name";
            if answer(&mut open_to_read(global)?, sql, &[], &flags)? == 0 {
                teller.note("no SLO is saved: `narwhal-jq slo set --ttft SECONDS --tpot SECONDS` saves one");
            }
        }
        Slo::Clear { name } => {
            // Looked at first: a database without that SLO is left as it is, or unmade.
            if slos::load(&open_to_read(global)?, name)?.is_none() {
                bail!("no SLO {name:?} is saved: `narwhal-jq slo show` lists them");
            }
            let connection = store::open_to_write(&global.db, global.busy_timeout)?;
            slos::clear(&connection, name).map_err(|error| store::explain(&global.db, error))?;
            store::close(connection)?;
            teller.note(&format!("SLO {name:?} removed"));
        }
    }
    Ok(Exit::Done)
}
