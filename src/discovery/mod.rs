//! Documents the gateway serves itself: the problem pages.
