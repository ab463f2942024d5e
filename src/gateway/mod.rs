//! The story of one request, from its head to its record.

pub mod answer;
