//! The effective policy as text for people: a summary, the routes as a table, each route, the limits.

use std::io::{self, Write};

use super::{Effective, EffectiveRoute, size};

impl Effective {
    /// A table for people.
    ///
    /// # Errors
    /// Only those of the writer.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "revision  {}", self.revision)?;
        writeln!(out, "declared  {}", self.capability_revision)?;
        writeln!(out, "agent     {} ({})", self.agent_ids.join(", "), self.agent_label)?;
        let tls = if self.tls.is_some() { "TLS" } else { "plain text" };
        writeln!(
            out,
            "listen    {} ({tls}), admin {}, ledger {}",
            self.listen, self.admin, self.ledger
        )?;
        if let Some(tls) = &self.tls {
            writeln!(out, "tls       certificate {}, key {}", tls.certificate, tls.key)?;
        }
        writeln!(out, "state     {}", self.state)?;
        writeln!(out, "backend   {} ({})", self.backend, self.backend_protocol)?;
        if let Some(url) = &self.public_url {
            writeln!(out, "public    {url}")?;
        }
        if !self.public_hosts.is_empty() {
            writeln!(out, "hosts     {}", self.public_hosts.join(", "))?;
        }
        if !self.public_origins.is_empty() {
            writeln!(out, "origins   {}", self.public_origins.join(", "))?;
        }
        for (key, words) in &self.vocabulary {
            writeln!(out, "words     {key}: {}, beside the shipped ones", words.join(", "))?;
        }
        if let Some(route) = &self.dispatch_route {
            writeln!(out, "dispatch  {route}")?;
        }
        if !self.hold.is_empty() {
            writeln!(out, "hold      {}, beside the profiles of §10", self.hold.join(", "))?;
        }
        let actions = &self.review_actions;
        let actions = [actions.execution.join(", "), actions.credential.join(", ")].join(", ");
        writeln!(out, "review    {actions}")?;
        if !self.removed_headers.is_empty() {
            writeln!(out, "removed   {}", self.removed_headers.join(", "))?;
        }
        writeln!(out)?;
        self.write_routes(out)?;
        for route in &self.routes {
            route.write(out)?;
        }
        writeln!(out, "\nlimits")?;
        for limit in &self.limits {
            writeln!(out, "  {:<24} {}", limit.key, limit.shown)?;
        }
        Ok(())
    }

    fn write_routes(&self, out: &mut impl Write) -> io::Result<()> {
        let head = ["route", "method", "path", "takes", "mode", "level", "body", "deadline"].map(str::to_owned);
        let rows: Vec<[String; 8]> = std::iter::once(head)
            .chain(self.routes.iter().map(EffectiveRoute::row))
            .collect();
        let mut widths = [0_usize; 8];
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        for row in &rows {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}

impl EffectiveRoute {
    fn row(&self) -> [String; 8] {
        [
            self.name.clone(),
            self.methods.join(","),
            self.path.clone(),
            self.takes.to_owned(),
            self.mode.to_owned(),
            self.level.to_owned(),
            self.body.map_or("-".to_owned(), size),
            self.deadline.clone(),
        ]
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "\n{}", self.name)?;
        let mut line = |key: &str, list: &[String]| {
            if list.is_empty() {
                return Ok(());
            }
            writeln!(out, "  {key:<16} {}", list.join(", "))
        };
        let profiles: Vec<String> = self.profiles.iter().map(|profile| profile.id.clone()).collect();
        let one = |value: Option<&str>| value.map(str::to_owned).into_iter().collect::<Vec<_>>();
        let envelopes: Vec<String> = self.envelopes.iter().map(|name| (*name).to_owned()).collect();
        line("envelopes", &envelopes)?;
        line("payload", &one(self.payload.as_deref()))?;
        line("profiles", &profiles)?;
        line("extensions", &self.extensions)?;
        line("modes", &self.modes)?;
        line("operations", &self.operations)?;
        line("integrity", &one(self.integrity))?;
        line(
            "relax_base",
            &one(self.relax_base.filter(|relaxed| *relaxed).map(|_| "true")),
        )?;
        line("backend_view", &one(self.backend_view.filter(|view| *view == "keyed")))?;
        line("content types", &self.media_types)?;
        line(
            "idempotency",
            &one(Some(if self.idempotency { "required" } else { "none" })),
        )?;
        match &self.forward_headers {
            Some(names) => line("headers", names)?,
            None => line("headers", &one(Some("all but the removed and consumed ones")))?,
        }
        line("credentials", &self.pass_credentials)?;
        line("error_bodies", &one(self.pass_error_bodies.then_some("pass")))?;
        line("human_review_url", &one(self.human_review_url.as_deref()))?;
        line("result_url", &one(self.result_url.as_deref()))?;
        line("result_url_field", &one(self.result_url_field.as_deref()))
    }
}
