//! Answers the requests of `leitong console`, without sockets: maps addresses to pages, and reads files.

use std::error::Error;

use hyper::StatusCode;
use maud::Markup;

use super::form::{self, Field};
use super::http::{self, Query};
use super::render::comparison as rendered;
use super::render::language::Language;
use super::render::layout::{self, Delivery, Frame};
use super::render::saved::{self as looked_up, Links};
use super::render::start::{self, Offers};
use super::saved::{Saved, Wanted};
use crate::answer::Answer;
use leitong_base::error::StepError;
use leitong_pipeline::comparison::{Comparer, Side};
use leitong_pipeline::document::is_text_file;
use leitong_text::page::{Body, Hints, Page};

/// Function that returns the page with this id or url.
pub type FindPage = Box<dyn Fn(&str) -> Result<Option<Page>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// The pages of the console, and the data that they show.
pub struct Site {
    comparer: Comparer,
    /// Finds a page in files; `None` if there are no files.
    find: Option<FindPage>,
    /// Table and verdicts.
    saved: Option<Saved>,
}

/// A request without its socket.
pub(crate) struct ConsoleRequest<'a> {
    /// The path.
    pub path: &'a str,
    /// Query after the `?`.
    pub query: Query,
    /// Language that the browser prefers.
    pub accepts: Language,
}

/// A request that cannot be answered.
struct Refused {
    status: StatusCode,
    title: [&'static str; 2],
    detail: String,
}

impl Refused {
    fn new(status: StatusCode, english: &'static str, chinese: &'static str, detail: String) -> Self {
        Self { status, title: [english, chinese], detail }
    }
}

impl Site {
    /// Creates the console for pages of these files, and a saved table.
    #[must_use]
    pub fn new(comparer: Comparer, find: Option<FindPage>, saved: Option<Saved>) -> Self {
        Self { comparer, find, saved }
    }

    /// Returns the limit on the bytes of a form: two pages and the parts around them.
    pub(crate) fn form_bytes_max(&self) -> usize {
        2 * self.comparer.config().page.bytes_max + (64 << 10)
    }

    /// Answers `GET`.
    pub(crate) fn get(&self, request: &ConsoleRequest<'_>) -> Answer {
        let language = request.query.language().unwrap_or(request.accepts);
        if request.path == "/style.css" {
            return http::style();
        }
        let answer = match request.path {
            "/" => Ok(self.form(request, language)),
            "/compare" => self.compare_named(request, language),
            "/page" => self.look_up(request, language),
            _ => Err(Refused::new(
                StatusCode::NOT_FOUND,
                "Page not found",
                "没有这个页面",
                format!("{:?}", request.path),
            )),
        };
        answer.unwrap_or_else(|refused| self.refused(&refused, request, language))
    }

    /// Answers the form with two pages.
    pub(crate) fn post(&self, request: &ConsoleRequest<'_>, content_type: &str, body: &[u8]) -> Answer {
        let fields = form::fields(content_type, body);
        let value = |fields: &[Field<'_>], name: &str| {
            let field = fields.iter().find(|field| field.name == name);
            field.map(|field| String::from_utf8_lossy(field.value).trim().to_owned()).unwrap_or_default()
        };
        let language = match &fields {
            Ok(fields) => Language::from_tag(&value(fields, "lang")),
            Err(_) => None,
        };
        let language = language.unwrap_or(request.accepts);
        let answer = fields.map_err(|error| broken(&error)).and_then(|fields| {
            let side = |letter: &str| {
                let field = |name: &str| value(&fields, &format!("{letter}_{name}"));
                let file = fields.iter().find(|field| field.name == format!("{letter}_file"));
                let file = file.filter(|file| !file.value.is_empty());
                self.submitted_page(letter, file, &field)
            };
            Ok(self.compared([side("a")?, side("b")?], None, language))
        });
        answer.unwrap_or_else(|refused| self.refused(&refused, request, language))
    }

    fn form(&self, request: &ConsoleRequest<'_>, language: Language) -> Answer {
        let offers =
            Offers { ids: self.find.is_some(), page_bytes_max: self.comparer.config().page.bytes_max };
        let title = language.say("Compare two pages", "比较两个页面");
        let other = request.query.in_language("/", language.other());
        let body = start::compare_form("/compare", offers, language);
        self.page(StatusCode::OK, (title, language), "/", &other, &body)
    }

    /// Answers `/page?q=…`: a page of the table by its id or url, or a cluster by its id.
    fn look_up(&self, request: &ConsoleRequest<'_>, language: Language) -> Result<Answer, Refused> {
        let Some(saved) = &self.saved else {
            let detail = "start the console with --table DIR to look pages up in a saved table".to_owned();
            return Err(Refused::new(StatusCode::NOT_FOUND, "There is no table", "没有表", detail));
        };
        let wanted = request.query.get("q").unwrap_or_default();
        let body = if wanted.is_empty() {
            looked_up::search("", language)
        } else {
            let cluster = Wanted::cluster(wanted);
            let found = saved.look_up(cluster.unwrap_or(Wanted::Page(wanted))).map_err(|error| {
                let detail = StepError::with_causes(&error);
                Refused::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "The table cannot be read",
                    "无法读取表",
                    detail,
                )
            })?;
            looked_up::found(wanted, &found, Links { language, compare: self.find.is_some() })
        };
        let title = language.say("Look up a page", "查找页面");
        let other = request.query.in_language("/page", language.other());
        Ok(self.page(StatusCode::OK, (title, language), "/page", &other, &body))
    }

    /// Answers `/compare?a=…&b=…`: two pages by their ids or urls.
    fn compare_named(&self, request: &ConsoleRequest<'_>, language: Language) -> Result<Answer, Refused> {
        let side = |letter: &str| match request.query.get(letter) {
            Some(name) => self.find_page(name),
            None => Err(nothing_given(letter)),
        };
        let sides = [side("a")?, side("b")?];
        Ok(self.compared(sides, Some(request.query.in_language("/compare", language.other())), language))
    }

    fn compared(&self, sides: [Side; 2], other: Option<String>, language: Language) -> Answer {
        let comparison = self.comparer.compare(sides);
        let title = rendered::title(&comparison, language);
        // A form cannot be sent again for the other language, so the link leads to an empty form.
        let other = other.unwrap_or_else(|| format!("/?lang={}", language.other().name()));
        let body = rendered::body(&comparison, language);
        self.page(StatusCode::OK, (&title, language), "", &other, &body)
    }

    /// Returns the page in a form. A file takes precedence over a text, and a text over a name.
    fn submitted_page(
        &self,
        letter: &str,
        file: Option<&Field<'_>>,
        field: &impl Fn(&str) -> String,
    ) -> Result<Side, Refused> {
        let (text, name, url) = (field("text"), field("id"), field("url"));
        let hints =
            |is_text: bool| Hints { charset: None, content_type: is_text.then(|| "text/plain".to_owned()) };
        let page = match file {
            Some(file) => {
                let name = file.file_name.clone().unwrap_or_else(|| letter.to_uppercase());
                let hints = hints(is_text_file(&name));
                let body =
                    self.bounded(file.value.len()).unwrap_or_else(|| Body::HtmlBytes(file.value.to_vec()));
                (name, Page { hints, ..Page::new(url, body) })
            }
            None if !text.is_empty() => {
                // Text that looks like markup is treated as markup nevertheless.
                let hints = hints(true);
                let body = self.bounded(text.len()).unwrap_or(Body::Html(text));
                (format!("{} (pasted)", letter.to_uppercase()), Page { hints, ..Page::new(url, body) })
            }
            None if !name.is_empty() => return self.find_page(&name),
            None => return Err(nothing_given(letter)),
        };
        let (name, page) = page;
        Ok(self.comparer.side(name, page))
    }

    fn bounded(&self, bytes: usize) -> Option<Body> {
        (bytes > self.comparer.config().page.bytes_max).then_some(Body::TooLarge(bytes as u64))
    }

    /// Finds the page with this id or url in the files.
    fn find_page(&self, name: &str) -> Result<Side, Refused> {
        let Some(find) = &self.find else {
            return Err(Refused::new(
                StatusCode::NOT_FOUND,
                "There are no files of pages",
                "没有页面文件",
                "start the console with --pages FILE to find pages by id or url".to_owned(),
            ));
        };
        match find(name) {
            Ok(Some(page)) => Ok(self.comparer.side(name.to_owned(), page)),
            Ok(None) => Err(Refused::new(
                StatusCode::NOT_FOUND,
                "Page not found",
                "未找到页面",
                format!("no page of the files has the id or url {name:?}"),
            )),
            Err(error) => Err(Refused::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "The files cannot be read",
                "无法读取文件",
                StepError::with_causes(&*error),
            )),
        }
    }

    fn refused(&self, refused: &Refused, request: &ConsoleRequest<'_>, language: Language) -> Answer {
        let Refused { status, title: [english, chinese], detail } = refused;
        let title = language.say(*english, *chinese);
        let other = request.query.in_language("/", language.other());
        let back = format!("/?lang={}", language.name());
        let body = start::problem(title, detail, &back, language);
        self.page(*status, (title, language), "", &other, &body)
    }

    /// Returns a page around `body`. `here` is the page's path if the header links to it, and empty otherwise. `other`
    /// is the address of the page in the other language.
    fn page(
        &self,
        status: StatusCode,
        (title, language): (&str, Language),
        here: &str,
        other: &str,
        body: &Markup,
    ) -> Answer {
        let compare = language.say("Compare", "比较");
        let link = |path: &str, text| (format!("{path}?lang={}", language.name()), text, path == here);
        let mut links = vec![link("/", compare)];
        if self.saved.is_some() {
            links.push(link("/page", language.say("Look up", "查找")));
        }
        let delivery = Delivery::Served("/");
        let frame = Frame { language, title, delivery, links, other_language: Some(other) };
        Answer::page(status, layout::page(&frame, body))
    }
}

fn broken(error: &form::FormError) -> Refused {
    Refused::new(StatusCode::BAD_REQUEST, "The form cannot be read", "无法读取表单", error.to_string())
}

fn nothing_given(letter: &str) -> Refused {
    let detail =
        format!("{}: paste a page, choose a file, or name a page by its id or url", letter.to_uppercase());
    Refused::new(StatusCode::BAD_REQUEST, "A page is missing", "缺少一个页面", detail)
}
