//! Puts the floors together and runs them.
