//! Strict JSON (contract §2.1): one pass from bytes to a borrowed tree that remembers where everything stood.

mod cursor;
mod frame;
mod names;
mod number;
mod reader;
mod schema;
mod strings;
mod tree;
mod write;

pub use number::Number;
pub use reader::{Bounds, read};
pub use schema::Tree;
pub use tree::{Kind, Member, Node, Span};
pub use write::minified;
pub(in crate::message) use write::{hex, write_string};
