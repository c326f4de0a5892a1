//! The page of a running worker on its admin port.

use hyper::StatusCode;
use hyper::http::request::Parts;

use super::http::{self, Query};
use super::render::layout::{self, Delivery, Frame};
use super::render::live as rendered;
use crate::answer::Answer;
use crate::state::live::{Live, MOMENT_S};

/// Path of the console on the port.
const BASE: &str = "/console/";

/// Answers a `GET`, or returns `None` if the path is not one of the page's.
pub(crate) fn answer(request: &Parts, live: impl FnOnce() -> Live) -> Option<Answer> {
    match request.uri.path() {
        "/console" | BASE => Some(page(request, &live())),
        path => match path.strip_prefix(BASE)? {
            "style.css" => Some(http::style()),
            "live.js" => Some(http::script()),
            _ => None,
        },
    }
}

fn page(request: &Parts, live: &Live) -> Answer {
    let query = Query::from_uri(&request.uri);
    let language = query.language().unwrap_or_else(|| http::accepted_language(&request.headers));
    let other = query.in_language(BASE, language.other());
    let frame = Frame {
        language,
        title: language.say("Worker", "工作进程"),
        delivery: Delivery::Served(BASE),
        links: &[],
        other_language: Some(&other),
        refresh_s: Some(2 * MOMENT_S),
    };
    Answer::page(StatusCode::OK, layout::page(&frame, &rendered::body(live, language)))
}
