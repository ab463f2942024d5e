//! The one thing that talks to the backend.
