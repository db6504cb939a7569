//! What stands out, a sentence each.

use maud::{Markup, html};

use crate::report::figures::findings::{Finding, Piece};

pub(super) fn list(findings: &[Finding]) -> Markup {
    html! {
        @if findings.is_empty() { p.note { "Nothing stands out by the rules of this page." } }
        @else {
            ul.find {
                @for finding in findings {
                    li {
                        a href=(format!("#{}", finding.section)) { (finding.head) " →" } " "
                        @for piece in &finding.sentence {
                            @match piece {
                                Piece::Plain(text) => { (text) },
                                Piece::Strong(text) => { b { (text) } },
                            }
                        }
                    }
                }
            }
        }
    }
}
