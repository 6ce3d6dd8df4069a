import ReelCore

/// One post as the cells of a table.
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

    /// Numbers stand below each other by their last digit.
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

  /// Harmless; `-` where nothing is known.
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
    case .caption: traits.sanitized(post.caption ?? post.video.rawValue)
    }
  }

  /// Place, caption and length on one line, the id below: where a table has no room.
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
