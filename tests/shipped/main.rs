//! Everything that ships around the program: crate, image, compose file, Debian package, systemd unit,
//! Kubernetes, alerts, dashboard.

mod alerts;
#[path = "../common/mod.rs"]
mod common;
mod compose;
mod configuration;
mod connectors;
mod debian;
mod dockerfile;
mod ignore;
mod image;
mod install;
mod kubernetes;
mod package;
mod systemd;
