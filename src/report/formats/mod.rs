//! A run in each of the formats that people and machines read. Values in, text out.

mod annotations;
mod badge;
mod jsonl;
mod junit;
mod markdown;
pub(in crate::report) mod page;
mod plain_text;
mod tap;
pub(in crate::report) mod terminal;

pub use annotations::annotations;
pub use badge::badge;
pub use jsonl::jsonl;
pub use junit::junit;
pub use markdown::{LARGEST_SUMMARY, summary_md};
pub use page::page;
pub use tap::tap;
pub use terminal::{View, case_detail, chosen, run_summary};
