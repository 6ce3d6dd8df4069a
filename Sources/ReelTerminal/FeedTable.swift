import ReelModel

/// A page of posts for people.
public enum FeedTable {
  /// A newline after each line. Ends with the command that gives the next page, if there is one.
  ///
  /// - Parameter size: of the page, when it was asked for, so that the next one has it too.
  public static func text(_ page: FeedPage, size: Int? = nil, _ traits: TerminalTraits) -> String {
    (posts(page.posts, traits) + footer(page, size, traits)).text(traits)
  }

  private static func posts(_ posts: [Post], _ traits: TerminalTraits) -> [StyledLine] {
    guard !posts.isEmpty else { return traits.wrapped("No posts here. To make some: reel ingest FOLDER") }
    let rows = posts.map { FeedRow($0, traits) }
    guard let columns = traits.columns else { return table(rows, columns: nil) }
    return columns >= narrowestTable ? table(rows, columns: columns) : rows.flatMap { $0.stacked(columns) }
  }

  /// With less than this no caption would fit beside the rest.
  private static let narrowestTable = 76

  private static func footer(_ page: FeedPage, _ size: Int?, _ traits: TerminalTraits) -> [StyledLine] {
    guard let next = page.next else { return [] }
    return traits.wrapped(
      "Next page: reel feed --before \(next.text)" + (size.map { " --size \($0)" } ?? ""), .dim)
  }

  private static func table(_ rows: [FeedRow], columns: Int?) -> [StyledLine] {
    let titles = ["", "id", "published", "size", "length", "by", "caption"]
    // Date and author only where there is room for them.
    let isWide = columns.map { $0 >= 120 } ?? true
    let shown = isWide ? [0, 1, 2, 3, 4, 5, 6] : [0, 1, 3, 4, 6]
    let widths = shown.map { index in
      let cells = rows.map { DisplayWidth.columns(of: $0.cells[index]) } + [titles[index].utf8.count]
      return min(cells.max() ?? 0, FeedRow.widest[index])
    }
    let header = line(shown.map { titles[$0] }, shown, widths, columns, .dim)
    return [header] + rows.map { row in line(shown.map { row.cells[$0] }, shown, widths, columns, nil) }
  }

  private static func line(
    _ cells: [String], _ shown: [Int], _ widths: [Int], _ columns: Int?, _ ink: StyledLine.Ink?
  ) -> StyledLine {
    var line = StyledLine()
    for (index, cell) in cells.dropLast().enumerated() {
      let cut = DisplayWidth.cuttingEnd(cell, to: widths[index])
      let isNumber = FeedRow.isRightAligned[shown[index]]
      let padded =
        isNumber
        ? DisplayWidth.paddedLeft(cut, to: widths[index]) : DisplayWidth.padded(cut, to: widths[index])
      line = line + StyledLine(padded + "  ", ink)
    }
    let caption = cells.last ?? ""
    guard let columns else { return line + StyledLine(caption, ink) }
    return line + StyledLine(DisplayWidth.cuttingEnd(caption, to: max(0, columns - line.columns)), ink)
  }
}

/// One post as cells: place, id, time, size, length, author, caption.
struct FeedRow {
  let cells: [String]
  private let traits: TerminalTraits

  /// Cells that a column takes at most. Ids and numbers are never cut.
  static let widest = [Int.max, Int.max, Int.max, Int.max, Int.max, 20, Int.max]
  static let isRightAligned = [true, false, false, true, true, false, false]

  init(_ post: Post, _ traits: TerminalTraits) {
    self.traits = traits
    cells = [
      post.pageNumber.map { "\($0)" } ?? "-",
      post.id.description,
      post.createdAt.map(ISOTime.minute) ?? "-",
      PostCard.size(post, traits) ?? "-",
      post.duration.map(HumanNumber.duration) ?? "-",
      traits.harmless(post.authorName ?? post.authorID ?? "-"),
      traits.harmless(post.caption ?? post.video.rawValue),
    ]
  }

  /// Caption and length on one line, the id below.
  func stacked(_ columns: Int) -> [StyledLine] {
    let place = cells[0] + "  "
    let length = "  " + cells[4]
    let room = columns - DisplayWidth.columns(of: place + length)
    let caption = DisplayWidth.padded(
      DisplayWidth.cuttingEnd(cells[6], to: max(1, room), mark: traits.ellipsis), to: max(0, room))
    let first = StyledLine(place, .dim) + StyledLine(caption, .strong) + StyledLine(length, .dim)
    let id = TextFlow.lines(cells[1], columns: max(1, columns - 2))
    return [first.cut(to: columns, mark: traits.ellipsis)]
      + id.map { (StyledLine("  ") + StyledLine($0, .dim)).cut(to: columns, mark: "") }
  }
}
