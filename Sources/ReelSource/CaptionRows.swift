import ReelModel

/// The rows of a caption list, once it is taken apart.
enum CaptionRows {
  private enum Column: String, CaseIterable {
    case path, caption, music, author
    case authorName = "authorname"
  }

  static func entries(_ bytes: [UInt8]) throws(SourceError) -> [CaptionList.Entry] {
    let records: [SeparatedValues.Record]
    do {
      records = try SeparatedValues.records(bytes)
    } catch {
      throw invalid(error.line, error.message)
    }
    guard let header = records.first else {
      throw invalid(1, "should name the columns, such as path,caption; the list is empty")
    }
    let columns = try columns(header)
    var entries: [CaptionList.Entry] = []
    for record in records.dropFirst() { entries.append(try entry(record, header, columns)) }
    return entries
  }

  /// Where each column stands.
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

  private static func entry(
    _ record: SeparatedValues.Record, _ header: SeparatedValues.Record, _ columns: [Column: Int]
  ) throws(SourceError) -> CaptionList.Entry {
    guard record.fields.count == header.fields.count else {
      throw invalid(
        record.line,
        "has \(record.fields.count) fields where the first line has \(header.fields.count); check its commas and quotes"
      )
    }
    func field(_ column: Column) -> String? {
      columns[column].map { record.fields[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }
    guard let path = field(.path) else {
      throw invalid(record.line, "has no path; fill it in, or leave the line out")
    }
    return CaptionList.Entry(
      line: record.line, path: SourcePath(path),
      words: PostWords(
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
