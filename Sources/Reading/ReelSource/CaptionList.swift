import ReelCore
import Synchronization

/// A list of what is said about videos: a CSV file (RFC 4180, UTF-8) with a header row that names its columns.
///
/// The columns are `path` (relative to the list's folder), `caption`, `music`, `author` and `authorName`, in any order
/// and any letter case. `path` is required; other columns are ignored. An empty field says nothing.
///
/// The list is kept as text, with some 20 bytes more for each row: it may have a million rows.
public struct CaptionList: Sendable {
  /// A row.
  public struct Entry: Hashable, Sendable {
    /// The line on which it begins, counted from 1.
    public let line: Int
    /// The path as the list has it.
    public let path: SourcePath
    /// What the row says about the file.
    public let metadata: PostMetadata
  }
  private let rows: CaptionRows
  private let table: HashTable
  private let folder: AbsolutePath
  private let workingDirectory: AbsolutePath

  /// Reads the list at `path`. Blocks.
  /// - Throws: `sidecarInvalid`, with the line, if it breaks a rule or names a path twice; `notFound`, `denied` and the
  ///   like if it can't be read.
  public init(at path: SourcePath) throws(SourceError) {
    try self.init(
      try NamedInput.read(path, upTo: Self.largest), listedAt: path, workingDirectory: .workingDirectory())
  }

  /// At most 64 MB: a million rows.
  private static let largest = 64 << 20

  init(
    _ bytes: [UInt8], listedAt path: SourcePath, workingDirectory: AbsolutePath
  ) throws(SourceError) {
    let folder = AbsolutePath(path.bytes, from: workingDirectory).parent
    var hashes: [UInt32] = []
    let rows = try CaptionRows(bytes) { entry in
      hashes.append(HashTable.hash(AbsolutePath(entry.path.bytes, from: folder)))
    }
    var table = HashTable(hashes)
    for index in 0..<rows.count {
      let other = table.insert(index) { rows.isSamePath($0, index, from: folder) }
      if let other {
        throw CaptionRows.invalid(
          rows.line(index), "names the same file as line \(rows.line(other)); leave one out")
      }
    }
    self.rows = rows
    self.table = table
    self.folder = folder
    self.workingDirectory = workingDirectory
  }

  /// All rows, in the order of the list; parsed again on each access.
  public var entries: [Entry] { (0..<rows.count).compactMap { rows.entry($0) } }

  package var count: Int { rows.count }

  /// Returns those of the rows `indices` that match no file: none is there, or several print alike. Blocks: it looks up
  /// each file.
  /// - Parameter folders: the listings to keep from one call to the next.
  package func missing(among indices: Range<Int>, in folders: ListedFolders = ListedFolders()) -> [Entry] {
    indices.clamped(to: 0..<rows.count).compactMap { index in
      guard let entry = rows.entry(index) else { return nil }
      // Looking it up would take a request for each row.
      if entry.path.isAddress { return nil }
      let path = AbsolutePath(entry.path.bytes, from: folder)
      guard path.namesNothing else { return nil }
      return rowsAlike(path).count == 1 && path.hasOneAlike(in: folders) ? nil : entry
    }
  }

  /// Returns the row about `path`, which is as the walk gave it: relative to the working directory, or absolute. If
  /// there is none, returns the only row whose path prints alike, except for the letter case of its extension.
  public func entry(for path: SourcePath) -> Entry? {
    let wanted = AbsolutePath(path.bytes, from: workingDirectory)
    let alike = rowsAlike(wanted)
    if let exact = alike.first(where: { rows.path($0, from: folder) == wanted }) { return rows.entry(exact) }
    return alike.count == 1 ? rows.entry(alike[0]) : nil
  }

  private func rowsAlike(_ path: AbsolutePath) -> [Int] {
    table.all(HashTable.hash(path)) { rows.path($0, from: folder)?.isAlike(path) ?? false }
  }
}

extension AbsolutePath {
  /// Whether nothing is at this path; false also if that can't be determined. Blocks.
  fileprivate var namesNothing: Bool {
    do throws(SourceError) {
      _ = try PathLookup.find(bytes, from: nil, links: .follow)
      return false
    } catch {
      return error.code == .notFound
    }
  }

  private var bytes: [UInt8] { components.reduce(into: []) { $0 += [UInt8(ascii: "/")] + $1 } }

  /// Whether exactly one existing path prints like this one. Each folder on the way is the one of that name, or else
  /// the only one whose name prints alike.
  fileprivate func hasOneAlike(in folders: ListedFolders) -> Bool {
    var path: [UInt8] = []
    for (index, name) in components.enumerated() {
      let exact = path + [UInt8(ascii: "/")] + name
      let isFolder = index < components.count - 1
      if isFolder, (try? PathLookup.find(exact, from: nil, links: .follow)) != nil {
        path = exact
        continue
      }
      guard let alike = folders.onlyOneAlike(name, in: path + [UInt8(ascii: "/")]) else { return false }
      path += [UInt8(ascii: "/")] + alike
    }
    return true
  }

  /// Equal for paths that print alike. Most paths are ASCII, so hashing their bytes is enough; a list may have a
  /// million.
  fileprivate var alikeHash: Int {
    guard components.allSatisfy({ $0.allSatisfy { $0 < 0x80 } }) else {
      return alikeKey?.hashValue ?? hashValue
    }
    guard let name = components.last, let dot = name.lastIndex(of: UInt8(ascii: ".")) else {
      return hashValue
    }
    var hasher = Hasher()
    hasher.combine(components.dropLast())
    hasher.combine(name[..<dot])
    hasher.combine(name[dot...].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 })
    return hasher.finalize()
  }

  /// A key that is equal for paths that print alike.
  fileprivate var alikeKey: String? { AlikeName.key(bytes) }

  fileprivate func isAlike(_ other: AbsolutePath) -> Bool {
    if self == other { return true }
    guard let key = alikeKey else { return false }
    return key == other.alikeKey
  }
}

/// The names in a few folders, as of the first request for each. Few are enough, as rows are mostly sorted by folder.
package final class ListedFolders: Sendable {
  private struct Listing {
    let names: NameList
    /// For each hash of a key that names printing alike have in common: the index of one of them, and how many there
    /// are.
    var alike: [Int: (index: Int, count: Int)] = [:]

    init(_ names: NameList) {
      self.names = names
      for index in 0..<names.count {
        guard let key = AlikeName.key(names[index]) else { continue }
        alike[key.hashValue, default: (index, 0)].count += 1
      }
    }
  }
  private let listings = Mutex<[[UInt8]: Listing?]>([:])
  private static let most = 8

  package init() {}

  /// Returns the only name in the folder at `path` that prints like `name`; nil if there is none or several, or if that
  /// can't be determined.
  fileprivate func onlyOneAlike(_ name: [UInt8], in path: [UInt8]) -> [UInt8]? {
    guard let key = AlikeName.key(name) else { return nil }
    return listings.withLock { listings in
      if listings[path] == nil {
        if listings.count >= Self.most { listings = [:] }
        let folder = try? PathLookup.find(path, from: nil, links: .follow).openDirectory()
        listings[path] = .some(folder.flatMap { try? NameList(of: $0) }.map(Listing.init))
      }
      guard case let listing?? = listings[path], let found = listing.alike[key.hashValue], found.count == 1
      else { return nil }
      return listing.names[found.index]
    }
  }
}

/// A hash table of numbers that stand for values. It does not store the values.
private struct HashTable: Sendable {
  /// Open addressing with linear probing: each place holds a number plus one, or 0 if it is free.
  private var places: [UInt32]
  /// The hash of each number's value.
  private let hashes: [UInt32]

  /// Creates an empty table for the numbers whose values have these hashes.
  init(_ hashes: [UInt32]) {
    self.hashes = hashes
    var size = 16
    while size < 2 * hashes.count { size *= 2 }
    places = [UInt32](repeating: 0, count: size)
  }

  /// Returns the same hash for paths that print alike.
  static func hash(_ path: AbsolutePath) -> UInt32 {
    UInt32(truncatingIfNeeded: path.alikeHash)
  }

  /// Inserts `number`, or returns the number whose value equals its.
  mutating func insert(_ number: Int, isEqual: (Int) -> Bool) -> Int? {
    if let other = first(hashes[number], where: isEqual) { return other }
    var place = Int(hashes[number]) & (places.count - 1)
    while places[place] != 0 { place = (place + 1) & (places.count - 1) }
    places[place] = UInt32(number) + 1
    return nil
  }

  /// Returns all numbers with that hash for which `isMeant` is true.
  func all(_ hash: UInt32, where isMeant: (Int) -> Bool) -> [Int] {
    var all: [Int] = []
    _ = first(hash) {
      if isMeant($0) { all.append($0) }
      return false
    }
    return all
  }

  /// Returns the first number with that hash for which `isMeant` is true.
  func first(_ hash: UInt32, where isMeant: (Int) -> Bool) -> Int? {
    var place = Int(hash) & (places.count - 1)
    while places[place] != 0 {
      let number = Int(places[place]) - 1
      if hashes[number] == hash, isMeant(number) { return number }
      place = (place + 1) & (places.count - 1)
    }
    return nil
  }
}

/// The rows of a caption list: its text, and where each row begins in it.
struct CaptionRows: Sendable {
  private enum Column: String, CaseIterable {
    case path, caption, music, author
    case authorName = "authorname"
  }
  private let bytes: [UInt8]
  private let endsLinesWithCR: Bool
  private let header: SeparatedValues.Record
  /// The index of each column.
  private let columns: [Column: Int]
  private var starts: [UInt32] = []
  private var lines: [UInt32] = []

  /// - Parameter note: called for each row, in order.
  /// - Throws: `sidecarInvalid` at the first line that breaks a rule.
  init(_ bytes: [UInt8], note: (CaptionList.Entry) -> Void) throws(SourceError) {
    var values = SeparatedValues(bytes)
    endsLinesWithCR = values.endsLinesWithCR
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

  /// Returns the row of that index. It was parsed once before, so it is never nil.
  func entry(_ index: Int) -> CaptionList.Entry? {
    var values = SeparatedValues(
      bytes, from: Int(starts[index]), line: line(index), endsLinesWithCR: endsLinesWithCR)
    return (try? values.next()).flatMap { try? entry($0) }
  }

  /// Returns the path of the file that the row of that index is about.
  func path(_ index: Int, from folder: AbsolutePath) -> AbsolutePath? {
    entry(index).map { AbsolutePath($0.path.bytes, from: folder) }
  }

  func isSamePath(_ one: Int, _ other: Int, from folder: AbsolutePath) -> Bool {
    path(one, from: folder) == path(other, from: folder)
  }

  private static func next(_ values: inout SeparatedValues) throws(SourceError) -> SeparatedValues.Record? {
    try rethrowing(as: { invalid($0.line, $0.message) }) { () throws(SeparatedValues.Problem) in
      try values.next()
    }
  }

  private static func columns(_ header: SeparatedValues.Record) throws(SourceError) -> [Column: Int] {
    var columns: [Column: Int] = [:]
    for (index, name) in header.fields.enumerated() {
      guard let column = Column(rawValue: name.trimming { $0 == " " }.lowercased()) else { continue }
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
      Sidecar.said(columns[column].map { record.fields[$0] })
    }
    guard let path = columns[.path].map({ record.fields[$0] }), !path.isEmpty else {
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
