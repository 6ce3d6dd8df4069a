import ReelCore

/// A page of posts for people.
package enum FeedTable {
  /// The order in which posts were requested.
  package enum Order: Hashable, Sendable {
    /// Newest first; nil begins with the newest post of all.
    case newest(before: FeedCursor?)
    /// By page number. `last` is the highest page number; nil if there are no posts.
    case oldest(from: Int, last: Int?)
  }

  /// Returns the page, with a newline after each line. Ends with the command for the next page, if there is one.
  ///
  /// - Parameters:
  ///   - size: the page size if one was given, so that the next page has the same.
  ///   - filter: the options that selected the posts, for the next page.
  ///   - library: where the posts were looked for.
  ///   - hint: writes the command.
  package static func text(
    _ page: FeedPage, order: Order = .newest(before: nil), size: Int? = nil, filter: String = "",
    in library: String, hint: CommandHint = CommandHint(), _ traits: TerminalTraits
  ) -> String {
    let posts =
      page.posts.isEmpty && !filter.isEmpty
      ? traits.wrapped("No posts match.")
      : posts(page.posts, order, traits.sanitized(library), hint, traits)
    return (posts + footer(page, order, size, filter, hint, traits)).text(traits)
  }

  private static func nothing(_ order: Order, _ library: String, _ hint: CommandHint) -> String {
    switch order {
    case .newest(before: nil), .oldest(_, last: nil):
      "No posts in \(library). To add some: " + hint.text("ingest", "FOLDER")
    case .newest(let cursor?): "No posts before number \(cursor.pageNumber)."
    case .oldest(let from, let last?) where from > last:
      "No posts from number \(from) on: the last one is \(last)."
    case .oldest: "No posts have these numbers."
    }
  }

  private static func posts(
    _ posts: [Post], _ order: Order, _ library: String, _ hint: CommandHint, _ traits: TerminalTraits
  ) -> [StyledLine] {
    guard !posts.isEmpty else { return traits.wrapped(nothing(order, library, hint)) }
    let rows = posts.map { FeedRow($0, traits) }
    guard let columns = traits.columns, columns < narrowestTable else { return table(rows, traits) }
    return rows.flatMap { $0.stacked(columns) }
  }

  /// In fewer columns, no caption would fit beside the rest.
  private static let narrowestTable = 76

  private static func footer(
    _ page: FeedPage, _ order: Order, _ size: Int?, _ filter: String, _ hint: CommandHint,
    _ traits: TerminalTraits
  ) -> [StyledLine] {
    guard let next = page.next else { return [] }
    let option = if case .oldest = order { "--from" } else { "--before" }
    let arguments = "\(option) \(next.text)" + (size.map { " --size \($0)" } ?? "") + filter
    return traits.wrapped("Next page:", command: traits.command(hint.text("feed", arguments)), .dim)
  }

  private static func table(_ rows: [FeedRow], _ traits: TerminalTraits) -> [StyledLine] {
    // Show date and author only if there is room.
    let isWide = traits.columns.map { $0 >= 120 } ?? true
    let shown: [FeedRow.Column] = isWide ? FeedRow.Column.allCases : [.place, .id, .size, .length, .caption]
    let widths = shown.map { column in
      let cells = rows.map { DisplayWidth.columns(of: $0.cell(column)) }
      return column == .caption ? 0 : (cells + [column.title.utf8.count]).max() ?? 0
    }
    let header = line(shown.map { ($0, $0.title) }, widths, traits, .dim)
    return [header] + rows.map { row in line(shown.map { ($0, row.cell($0)) }, widths, traits, nil) }
  }

  private static func line(
    _ cells: [(column: FeedRow.Column, text: String)], _ widths: [Int], _ traits: TerminalTraits,
    _ style: StyledLine.TextStyle?
  ) -> StyledLine {
    let padded = zip(cells, widths).map { cell, width in
      cell.column.isNumber
        ? DisplayWidth.paddedLeft(cell.text, to: width) : DisplayWidth.padded(cell.text, to: width)
    }
    let line = StyledLine(padded.joined(separator: "  "), style)
    return traits.columns.map { line.cut(to: $0, mark: traits.ellipsis) } ?? line
  }
}

struct FeedRow {
  enum Column: CaseIterable {
    case place, id, posted, size, length, author, caption

    var title: String {
      switch self {
      case .place: ""
      case .id: "id"
      case .posted: "posted (UTC)"
      case .size: "size"
      case .length: "length"
      case .author: "by"
      case .caption: "caption"
      }
    }

    /// Whether the column is aligned to the right, so that numbers line up by their last digit.
    var isNumber: Bool {
      switch self {
      case .place, .size, .length: true
      case .id, .posted, .author, .caption: false
      }
    }
  }
  private let post: Post
  private let traits: TerminalTraits

  init(_ post: Post, _ traits: TerminalTraits) {
    self.post = post
    self.traits = traits
  }

  /// The text of the cell, sanitized; `-` if unknown.
  func cell(_ column: Column) -> String {
    switch column {
    case .place: post.pageNumber.map { "\($0)" } ?? "-"
    case .id: post.id.description
    case .posted: post.createdAt.map(ISOTime.minute) ?? "-"
    case .size: PostSummary.size(post, traits) ?? "-"
    case .length: post.duration.map(HumanNumber.duration) ?? "-"
    case .author:
      DisplayWidth.cuttingEnd(
        traits.sanitized(post.authorName ?? post.authorID ?? "-"), to: 20, mark: traits.ellipsis)
    case .caption: traits.sanitized(post.caption ?? post.sourceName ?? post.video.rawValue)
    }
  }

  /// The row without a table, for narrow terminals: number, caption and length on one line, the id below.
  func stacked(_ columns: Int) -> [StyledLine] {
    let (place, length) = (cell(.place) + "  ", "  " + cell(.length))
    let room = columns - DisplayWidth.columns(of: place + length)
    let caption = DisplayWidth.padded(
      DisplayWidth.cuttingEnd(cell(.caption), to: room, mark: traits.ellipsis), to: room)
    let first = StyledLine(place, .dim) + StyledLine(caption, .strong) + StyledLine(length, .dim)
    let id = TextFlow.lines(cell(.id), columns: max(1, columns - 2))
    return [first.cut(to: columns, mark: traits.ellipsis)]
      + id.map { (StyledLine("  ") + StyledLine($0, .dim)).cut(to: columns, mark: "") }
  }
}

/// A page of the feed as JSON: `{"posts": […], "next": "12"}`. `next` is the value for the next page of the option by
/// which this page was requested; null on the last page.
package struct FeedDocument: Encodable, Sendable {
  private let posts: [Post]
  @ExplicitNull private var next: String?

  package init(_ page: FeedPage) {
    posts = page.posts
    _next = ExplicitNull(wrappedValue: page.next?.text)
  }
}
