//! Chosen blocks → the page's outline: paragraphs, headings and code in lists, quotations and tables.
//!
//! One pass over the nodes gives each its container; then each chosen block is added to the container of its node. A
//! container enters the outline with its first chosen block. So lists and tables of which nothing was chosen leave no
//! trace, and what was chosen keeps its order.

use crate::extract::markdown::inline::{self, Around, Spans};
use crate::extract::markdown::table::{Grid, data_tables};
use crate::extract::markdown::{Page, code};
use crate::extract::parse::structure::{Property, Span, SpanKind};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, block_flag};

/// Maximum depth of lists and quotations within one another. The content of deeper ones is written at this depth.
pub(super) const LEVELS_MAX: u8 = 10;

/// Maximum number of nodes, from an image's upwards, that are searched for its `<figure>`.
const FIGURE_LEVELS_MAX: usize = 3;

/// Maximum number of nodes, from program text upwards, that are searched for its language. Tables, rows and cells do
/// not count: many highlighters have the numbers of lines in another cell.
const LANGUAGE_LEVELS_MAX: usize = 4;

/// Maximum number of spaces and tabs before a line of a program in a row of its own.
const INDENTATION_MAX: usize = 200;

/// Maximum number of tags between the indentation and the text of a program line in a row of its own.
const INDENTATION_TAGS_MAX: usize = 4;

/// Maximum number of line feeds between two lines of a program whose lines are rows.
const BLANK_LINES_MAX: u32 = 4;

/// A part of the outline.
#[derive(Debug)]
pub(super) enum Part {
    /// A paragraph, as lines of inline Markdown.
    Paragraph(Vec<String>),
    /// A heading with its level.
    Heading(u8, String),
    /// Program text.
    Code { text: String, language: Option<String> },
    /// A quotation.
    Quote(Vec<Part>),
    /// A list. Items have a number if it is ordered.
    List(Vec<(Option<u32>, Vec<Part>)>),
    /// A table.
    Table(Grid),
}

/// A container of blocks.
#[derive(Debug)]
struct Container {
    kind: ContainerKind,
    parent: usize,
    level: u8,
    children: Vec<Child>,
    is_linked: bool,
}

#[derive(Debug)]
enum ContainerKind {
    Page,
    Quote,
    /// A list, and the number of the next item if it is ordered.
    List(Option<u32>),
    /// An item.
    Item(Item),
    Table(Grid),
}

#[derive(Debug, Clone, Copy, Default)]
struct Item {
    number: Option<u32>,
    /// True for a task that is done, false for any other task, `None` for an item that is not a task.
    task: Option<bool>,
}

#[derive(Debug)]
enum Child {
    Container(usize),
    Leaf(Leaf),
}

/// A part that holds no other parts, with its node and the last block added to it.
#[derive(Debug)]
struct Leaf {
    part: Part,
    node: u32,
    block: u32,
    /// The [line](Context::line) of the last block.
    line: u32,
}

/// The place of a node. 0, the root, stands for no node.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    container: usize,
    /// The level of the heading around the node.
    heading: Option<u8>,
    /// The innermost preformatted node, or the table whose rows are the lines of a program.
    preformatted: u32,
    /// In a table whose rows are the lines of a program, the number of the line, from 1, counted over all such tables
    /// of the page. 0 for other nodes.
    line: u32,
    /// The innermost table.
    table: u32,
    /// True within a cell of a table that is written as a table.
    is_cell: bool,
    /// The row and column of that cell.
    cell: (u32, u32),
}

/// Returns the outline of a page's chosen blocks.
pub(super) fn outline(page: &Page<'_>) -> Vec<Part> {
    let mut builder = Builder::new(page);
    let mut spans = Spans::new(page);
    let mut last = None;
    for &number in page.chosen {
        builder.add_block(page, &mut spans, number, last);
        last = Some(number);
    }
    builder.parts(0)
}

struct Builder {
    containers: Vec<Container>,
    /// The place of each node.
    contexts: Vec<Context>,
    /// Number of table rows that are lines of programs.
    lines: u32,
}

impl Builder {
    fn new(page: &Page<'_>) -> Self {
        let root = Container {
            kind: ContainerKind::Page,
            parent: 0,
            level: 0,
            children: Vec::new(),
            is_linked: true,
        };
        let contexts = Vec::with_capacity(page.tree.nodes.len());
        let mut builder = Self { containers: vec![root], contexts, lines: 0 };
        let tables = data_tables(page.tree);
        let mut tables = tables.into_iter().peekable();
        for (number, node) in (0_u32..).zip(&page.tree.nodes) {
            let parent = match number {
                0 => Context::default(),
                _ => builder.contexts[node.parent as usize],
            };
            let is_table = tables.next_if_eq(&number).is_some();
            let context = builder.context(page, number, node.tag, parent, is_table);
            builder.contexts.push(context);
        }
        builder
    }

    /// Returns the place of `node`, given that of its parent. If the node is a container, opens it.
    fn context(&mut self, page: &Page<'_>, node: u32, tag: Tag, parent: Context, is_table: bool) -> Context {
        let mut context = parent;
        if tag.heading_level() != 0 {
            context.heading = Some(tag.heading_level());
        }
        if matches!(tag, Tag::Pre | Tag::Xmp | Tag::Listing | Tag::Plaintext) {
            context.preformatted = node;
        }
        let properties = || page.tree.structure.of_node(node);
        let number = || {
            properties().find_map(|property| match property {
                Property::Number(number) => Some(number),
                _ => None,
            })
        };
        if tag == Tag::Table {
            context.table = node;
        }
        if properties().any(|property| property == Property::ProgramLine) {
            self.lines += 1;
            (context.preformatted, context.line) = (parent.table, self.lines);
        }
        let holder = &mut self.containers[context.container];
        match (tag, &mut holder.kind) {
            // Cells hold only text, so no container opens within a table.
            (_, ContainerKind::Table(grid)) => match tag {
                // A cell without end tag holds the next row.
                Tag::Tr => {
                    grid.begin_row();
                    context.is_cell = false;
                }
                Tag::Td | Tag::Th if !parent.is_cell => {
                    context.cell = grid.begin_cell(tag == Tag::Th, page.tree.structure.size_of_cell(node));
                    context.is_cell = true;
                }
                Tag::Caption if !parent.is_cell => context.container = holder.parent,
                _ => {}
            },
            (Tag::Table, _) if is_table => {
                context.container = self.open(ContainerKind::Table(Grid::default()), context.container, 0);
            }
            (Tag::Blockquote, _) => context.container = self.open(ContainerKind::Quote, context.container, 1),
            (Tag::Ul | Tag::Menu | Tag::Dir | Tag::Dl, _) => {
                context.container = self.open(ContainerKind::List(None), context.container, 1);
            }
            (Tag::Ol, _) => {
                let first = number().unwrap_or(1);
                context.container = self.open(ContainerKind::List(Some(first)), context.container, 1);
            }
            (Tag::Li | Tag::Dt, ContainerKind::List(next)) => {
                let own = next.map(|next| number().unwrap_or(next));
                *next = own.map(|own| own.saturating_add(1));
                let item = Item { number: own, task: None };
                context.container = self.open(ContainerKind::Item(item), context.container, 0);
            }
            _ => {}
        }
        if let ContainerKind::Item(item) = &mut self.containers[context.container].kind {
            let task = |property| if let Property::Task(is_done) = property { Some(is_done) } else { None };
            item.task = properties().find_map(task).or(item.task);
        }
        context
    }

    /// Adds a container in `parent` and returns its index. If it would be nested too deeply, returns `parent` instead.
    fn open(&mut self, kind: ContainerKind, parent: usize, levels: u8) -> usize {
        let level = self.containers[parent].level + levels;
        if level > LEVELS_MAX {
            return parent;
        }
        self.containers.push(Container { kind, parent, level, children: Vec::new(), is_linked: false });
        self.containers.len() - 1
    }

    /// Adds a chosen block, and the images before it that belong to the text. `last` is the previous chosen block.
    fn add_block(&mut self, page: &Page<'_>, spans: &mut Spans, number: u32, last: Option<u32>) {
        let block = &page.tree.blocks[number as usize];
        let (before, within) = spans.images(page, number);
        let is_next = last.is_some_and(|last| last + 1 == number);
        for image in before {
            let image = &page.tree.structure.images[image];
            if is_next || in_figure_of(page, image.node, number) {
                self.add_line(self.contexts[image.node as usize], image.node, inline::image(page, image));
            }
        }
        let context = self.contexts[block.node as usize];
        // A table has nothing but text, in its cells and between them.
        let is_in_table = matches!(self.containers[context.container].kind, ContainerKind::Table(_));
        let is_program = block.features & block_flag::PREFORMATTED != 0 || context.line != 0;
        if is_program && !is_in_table {
            self.add_code(page, context, number);
            return;
        }
        let around = match context {
            _ if is_in_table => Around::TableCell,
            Context { heading: Some(_), .. } => Around::Heading,
            _ => Around::Paragraph,
        };
        let line = inline::line(page, spans, block, &within, around);
        if line.is_empty() {
            return;
        }
        if let (Some(level), false) = (context.heading, is_in_table) {
            self.add_heading(context.container, level, (block.node, number), line);
            return;
        }
        let breaks = &page.tree.structure.breaks;
        let first = breaks.partition_point(|at| *at < block.first_segment);
        let breaks = breaks[first..].iter().take(2).filter(|at| **at == block.first_segment).count();
        if is_next
            && breaks == 1
            && !is_in_table
            && let Some(Leaf { part: Part::Paragraph(lines), block: last, .. }) =
                self.last_leaf(context.container).filter(|leaf| leaf.node == block.node)
            && last.checked_add(1) == Some(number)
        {
            *last = number;
            lines.push(line);
            return;
        }
        self.add_line(context, block.node, line);
        if let Some(leaf) = self.last_leaf(context.container) {
            leaf.block = number;
        }
    }

    /// Adds a heading, or extends the previous one if only a line break lies between them.
    fn add_heading(&mut self, container: usize, level: u8, (node, number): (u32, u32), line: String) {
        if let Some(Leaf { part: Part::Heading(_, text), block, .. }) = self
            .last_leaf(container)
            .filter(|leaf| leaf.node == node && leaf.block.checked_add(1) == Some(number))
        {
            *block = number;
            text.push(' ');
            text.push_str(&line);
            return;
        }
        self.add(container, Leaf { part: Part::Heading(level, line), node, block: number, line: 0 });
    }

    fn add_code(&mut self, page: &Page<'_>, context: Context, number: u32) {
        let block = &page.tree.blocks[number as usize];
        let mut added = code::text(page, block);
        if added.is_empty() {
            return;
        }
        let node = context.preformatted;
        let lines = match context.line {
            0 => 1,
            line => {
                added.insert_str(0, indentation(page, block));
                let before = self.last_leaf(context.container).map_or(0, |leaf| leaf.line);
                line.saturating_sub(before).clamp(1, BLANK_LINES_MAX)
            }
        };
        if let Some(Leaf { part: Part::Code { text, .. }, line, .. }) =
            self.last_leaf(context.container).filter(|leaf| leaf.node == node)
        {
            text.push_str(&"\n".repeat(lines as usize));
            text.push_str(&added);
            *line = context.line;
            return;
        }
        let part = Part::Code { text: added, language: language(page, number) };
        self.add(context.container, Leaf { part, node, block: number, line: context.line });
    }

    /// Adds a line as a paragraph, or to its cell.
    fn add_line(&mut self, context: Context, node: u32, line: String) {
        let container = context.container;
        if let ContainerKind::Table(grid) = &mut self.containers[container].kind {
            grid.add(context.is_cell.then_some(context.cell), &line);
            self.link(container);
            return;
        }
        self.add(container, Leaf { part: Part::Paragraph(vec![line]), node, block: u32::MAX, line: 0 });
    }

    fn add(&mut self, container: usize, leaf: Leaf) {
        let container = self.holder(container);
        self.link(container);
        self.containers[container].children.push(Child::Leaf(leaf));
    }

    /// Returns `container`. If it is a list, returns its last item instead, because a list holds only items.
    fn holder(&mut self, container: usize) -> usize {
        let list = &self.containers[container];
        if !matches!(list.kind, ContainerKind::List(_)) {
            return container;
        }
        match list.children.last() {
            Some(Child::Container(item)) => *item,
            _ => self.open(ContainerKind::Item(Item::default()), container, 0),
        }
    }

    /// Adds `container` to its parent's children, and likewise each ancestor, until one is already linked. The page
    /// always is.
    fn link(&mut self, container: usize) {
        let mut at = container;
        while !self.containers[at].is_linked {
            self.containers[at].is_linked = true;
            let is_item = matches!(self.containers[at].kind, ContainerKind::Item(_));
            let parent = self.containers[at].parent;
            let parent = if is_item { parent } else { self.holder(parent) };
            self.containers[parent].children.push(Child::Container(at));
            at = parent;
        }
    }

    fn last_leaf(&mut self, container: usize) -> Option<&mut Leaf> {
        let container = match &self.containers[container] {
            Container { kind: ContainerKind::List(_), children, .. } => match children.last()? {
                Child::Container(item) => *item,
                Child::Leaf(_) => return None,
            },
            _ => container,
        };
        match self.containers[container].children.last_mut()? {
            Child::Leaf(leaf) => Some(leaf),
            Child::Container(_) => None,
        }
    }

    /// Returns the parts of a container. The recursion is as deep as containers are nested.
    fn parts(&mut self, container: usize) -> Vec<Part> {
        let children = std::mem::take(&mut self.containers[container].children);
        let mut parts = Vec::with_capacity(children.len());
        for child in children {
            let at = match child {
                Child::Leaf(leaf) => {
                    parts.push(leaf.part);
                    continue;
                }
                Child::Container(at) => at,
            };
            match &mut self.containers[at].kind {
                ContainerKind::Table(grid) => parts.extend(std::mem::take(grid).into_parts()),
                ContainerKind::Quote => parts.push(Part::Quote(self.parts(at))),
                ContainerKind::List(_) => {
                    let items = std::mem::take(&mut self.containers[at].children);
                    let items = items.into_iter().filter_map(|item| match item {
                        Child::Container(item) => Some(item),
                        Child::Leaf(_) => None,
                    });
                    let is_ordered = matches!(self.containers[at].kind, ContainerKind::List(Some(_)));
                    let items = items.map(|item| {
                        let Item { number, task } = match self.containers[item].kind {
                            ContainerKind::Item(item) => item,
                            _ => Item::default(),
                        };
                        let mut parts = self.parts(item);
                        if let (Some(is_done), Some(Part::Paragraph(lines))) = (task, parts.first_mut()) {
                            lines[0].insert_str(0, if is_done { "[x] " } else { "[ ] " });
                        }
                        (if is_ordered { number.or(Some(1)) } else { None }, parts)
                    });
                    parts.push(Part::List(items.collect()));
                }
                ContainerKind::Page | ContainerKind::Item(_) => parts.extend(self.parts(at)),
            }
        }
        parts
    }
}

/// Returns the white space before the text of a cell that is a line of a program.
fn indentation<'a>(page: &Page<'a>, block: &Block) -> &'a str {
    let first = page.tree.segments[block.first_segment as usize];
    let mut before = &page.html[..first.start as usize];
    // The text may begin within inline elements.
    for _ in 0..INDENTATION_TAGS_MAX {
        let Some(tag) = before.ends_with('>').then(|| before.rfind('<')).flatten() else { break };
        if before[tag..].starts_with("<td") {
            return "";
        }
        before = &before[..tag];
    }
    let spaces = before.bytes().rev().take(INDENTATION_MAX).take_while(|byte| matches!(byte, b' ' | b'\t'));
    &before[before.len() - spaces.count()..]
}

/// Returns true if `node` is in a figure that holds block `number`.
fn in_figure_of(page: &Page<'_>, node: u32, number: u32) -> bool {
    let nodes = &page.tree.nodes;
    let mut figure = page.tree.ancestors(node).take(FIGURE_LEVELS_MAX).map(|node| &nodes[node as usize]);
    figure
        .find(|node| node.tag == Tag::Figure)
        .is_some_and(|figure| (figure.first_block..figure.end_block).contains(&number))
}

/// Returns the programming language of a preformatted block.
fn language(page: &Page<'_>, number: u32) -> Option<String> {
    let structure = &page.tree.structure;
    let block = &page.tree.blocks[number as usize];
    let first = structure.spans.partition_point(|span| span.first < block.first_segment);
    let is_of_block = |span: &&Span| span.first < block.end_segment;
    let spans = structure.spans[first..].iter().take_while(is_of_block);
    let value = |value: crate::extract::parse::segment::Segment| &page.html[value.range()];
    let mut of_code = spans.filter(|span| span.kind == SpanKind::Code).take(4);
    let is_of_table = |node: &u32| {
        matches!(page.tree.nodes[*node as usize].tag, Tag::Table | Tag::Tbody | Tag::Tr | Tag::Td)
    };
    let mut levels = 0;
    let nodes = page.tree.ancestors(block.node).take_while(|node| {
        levels += usize::from(!is_of_table(node));
        levels <= LANGUAGE_LEVELS_MAX
    });
    let mut of_nodes = nodes.flat_map(|node| structure.of_node(node).map(move |property| (node, property)));
    let of_pre = |class: &str| code::language(class).or_else(|| code::well_known(class));
    let of_node = |(node, property): (u32, Property)| match property {
        Property::Class(class) if page.tree.nodes[node as usize].tag == Tag::Pre => of_pre(value(class)),
        Property::Class(class) => code::language(value(class)),
        Property::Language(name) if page.tree.nodes[node as usize].tag == Tag::Pre => {
            code::named(value(name))
        }
        // Around a program, the attribute may also name the language of the page (`data-lang=en`).
        Property::Language(name) => code::well_known(value(name)),
        _ => None,
    };
    of_code.find_map(|span| of_pre(value(span.value))).or_else(|| of_nodes.find_map(of_node))
}
