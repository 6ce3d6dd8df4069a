import ReelCore

/// The rows of a caption list, as its text and where each begins in it.
struct CaptionRows: Sendable {
  private enum Column: String, CaseIterable {
    case path, caption, music, author
    case authorName = "authorname"
  }
  private let bytes: [UInt8]
  private let header: SeparatedValues.Record
  /// Where each column stands.
  private let columns: [Column: Int]
  private var starts: [UInt32] = []
  private var lines: [UInt32] = []

  /// - Parameter note: told of each row, in their order.
  /// - Throws: `sidecarInvalid` at the first line that breaks a rule.
  init(_ bytes: [UInt8], note: (CaptionList.Entry) -> Void) throws(SourceError) {
    var values = SeparatedValues(bytes)
    guard let header = try Self.next(&values) else {
      throw Self.invalid(1, "should name the columns, such as path,caption; the list is empty")
    }
    self.bytes = bytes
    self.header = header
    columns = try Self.columns(header)
    while let record = try Self.next(&values) {
      note(try entry(record))
      starts.append(UInt32(record.start))
      lines.append(UInt32(record.line))
    }
  }

  var count: Int { starts.count }

  func line(_ index: Int) -> Int { Int(lines[index]) }

  /// The row of that number. It was read once before, so it is never nil.
  func entry(_ index: Int) -> CaptionList.Entry? {
    var values = SeparatedValues(bytes, from: Int(starts[index]), line: line(index))
    return (try? values.next()).flatMap { try? entry($0) }
  }

  /// The file that the row of that number is about.
  func path(_ index: Int, from folder: AbsolutePath) -> AbsolutePath? {
    entry(index).map { AbsolutePath($0.path.bytes, from: folder) }
  }

  func isSamePath(_ one: Int, _ other: Int, from folder: AbsolutePath) -> Bool {
    path(one, from: folder) == path(other, from: folder)
  }

  private static func next(_ values: inout SeparatedValues) throws(SourceError) -> SeparatedValues.Record? {
    do throws(SeparatedValues.Problem) {
      return try values.next()
    } catch {
      throw invalid(error.line, error.message)
    }
  }

  private static func columns(_ header: SeparatedValues.Record) throws(SourceError) -> [Column: Int] {
    var columns: [Column: Int] = [:]
    for (index, name) in header.fields.enumerated() {
      guard let column = Column(rawValue: name.trimmingSpaces().lowercased()) else { continue }
      if columns.updateValue(index, forKey: column) != nil {
        throw invalid(header.line, "names the column \(column.rawValue) twice; leave one out")
      }
    }
    if columns[.path] == nil {
      throw invalid(
        header.line, "names no column path; begin the list with a line like path,caption (with commas)")
    }
    return columns
  }

  private func entry(_ record: SeparatedValues.Record) throws(SourceError) -> CaptionList.Entry {
    guard record.fields.count == header.fields.count else {
      throw Self.invalid(
        record.line,
        "has \(record.fields.count) fields where the first line has \(header.fields.count); check its commas and quotes"
      )
    }
    func field(_ column: Column) -> String? {
      columns[column].map { record.fields[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }
    guard let path = field(.path) else {
      throw Self.invalid(record.line, "has no path; fill it in, or leave the line out")
    }
    return CaptionList.Entry(
      line: record.line, path: SourcePath(path),
      metadata: PostMetadata(
        authorID: field(.author), authorName: field(.authorName), caption: field(.caption),
        music: field(.music)))
  }

  static func invalid(_ line: Int, _ problem: String) -> SourceError {
    SourceError(.sidecarInvalid, "line \(line) of the caption list \(problem)")
  }
}

extension String {
  fileprivate func trimmingSpaces() -> Substring {
    let rest = drop { $0 == " " }
    return rest.dropLast(rest.reversed().prefix { $0 == " " }.count)
  }
}
