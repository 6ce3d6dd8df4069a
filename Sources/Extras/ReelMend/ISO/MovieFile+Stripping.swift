import ReelCore
import ReelProbe

extension MovieFile {
  /// The number of bytes of a box outside of the index that are examined.
  private static let looked: Int64 = 1 << 20
  private static let mostInFragment = 100_000
  /// Boxes in which nothing may move: positions are counted from the beginning of fragments, and readers find the list
  /// of fragments by its size.
  private static let keepingSizes: Set<FourCharacterCode> = ["moof", "mfra"]

  /// What is removed from such a box: a box in it, or bytes after the last one that are no box.
  private enum Gone {
    case box(ISOBox)
    case bytes(Range<Int64>)
  }

  /// Removes what its boxes give away. Whatever is outside of the index keeps its size and its position.
  /// - Returns: whether anything was removed.
  /// - Throws: the error that stops the reading.
  mutating func strip(_ rules: MetadataStripping, _ source: BoundedSource) throws(MendError) -> Bool {
    var isChanged = movie.strip(rules)
    for place in items.indices where !items[place].isMovie {
      guard case .source(let range)? = items[place].parts.first, items[place].parts.count == 1 else {
        continue
      }
      if let stripped = strip(items[place].type, range, rules, source) {
        items[place] = stripped
        isChanged = true
      }
    }
    return isChanged
  }

  /// Returns the item without what it gives away; nil if it stays as it is.
  private func strip(
    _ type: FourCharacterCode, _ range: Range<Int64>, _ rules: MetadataStripping, _ source: BoundedSource
  ) -> Item? {
    let free = Item(type: "free", parts: Self.free(range.upperBound - range.lowerBound))
    if type == Item.noBox {
      return rules.stripping == nil || source.isBlank(range) ? nil : free
    }
    guard let box = ISOBoxes(source, in: range, atMost: 1).first(where: { _ in true }) else { return nil }
    // Space that other programs freed may hold what they were asked to remove, and cameras hide their route there.
    if MoviePlaces.isUnused(type) {
      return rules.stripping == nil || source.isBlank(box.contents..<range.upperBound) ? nil : free
    }
    if Self.keepingSizes.contains(type) {
      let parts = Self.parts(of: range, without: given(away: box, rules, source))
      return parts.count > 1 ? Item(type: type, parts: parts) : nil
    }
    let length = range.upperBound - box.contents
    let contents = { source.bytes(at: box.contents, count: Int(min(length, Self.looked)))[...] }
    switch rules.fate(of: type, in: nil, isWhole: length <= Self.looked, contents) {
    case .stays: return nil
    case .goes: return free
    case .isPicture: return rules.stripping == nil ? nil : free
    case .isLookedInto:
      let before = MovieBox(parsing: type, contents())
      var after = before
      guard after.strip(rules) else { return nil }
      // The box may refer to positions in the file, and other boxes may refer to it, so it keeps its size.
      let left = range.upperBound - range.lowerBound - Int64(after.size)
      guard !after.boxes.isEmpty, left == 0 || left >= 8 else { return free }
      return Item(type: type, parts: [.bytes(after.serialized)] + (left == 0 ? [] : Self.free(left)))
    }
  }

  /// Returns what gives something away in a box that keeps its size, in order.
  private func given(away outer: ISOBox, _ rules: MetadataStripping, _ source: BoundedSource) -> [Gone] {
    let range = outer.contents..<max(outer.contents, min(outer.end, source.size))
    let boxes = ISOBoxes(source, in: range, atMost: Self.mostInFragment).prefix { $0.end <= outer.end }
    let rest = min(boxes.last?.end ?? range.lowerBound, range.upperBound)..<range.upperBound
    let leftover: [Gone] = rules.stripping == nil || source.isBlank(rest) ? [] : [.bytes(rest)]
    return boxes.flatMap { box -> [Gone] in
      if box.type == "traf" { return given(away: box, rules, source) }
      let end = min(box.end, range.upperBound)
      let contents = {
        source.bytes(at: box.contents, count: Int(max(0, min(end - box.contents, Self.looked))))[...]
      }
      let isWhole = end - box.contents <= Self.looked
      switch rules.fate(of: box.type, in: outer.type, isWhole: isWhole, contents) {
      case .stays: return []
      case .goes: return [.box(box)]
      // Players take what they show about a file from its index, so these boxes can go.
      case .isLookedInto, .isPicture: return rules.stripping == nil ? [] : [.box(box)]
      }
    } + leftover
  }

  /// Returns a part of the source in which removed boxes have become free boxes, and other removed bytes zeros.
  private static func parts(of range: Range<Int64>, without gone: [Gone]) -> [MendedFile.Part] {
    var (parts, next): ([MendedFile.Part], Int64) = ([], range.lowerBound)
    for item in gone {
      switch item {
      case .box(let box) where box.start >= next && box.end <= range.upperBound:
        // The size field stays as it is, at the same width.
        parts += [.source(next..<box.start + 4), .bytes(Array("free".utf8))]
        if box.contents > box.start + 8 { parts.append(.source(box.start + 8..<box.contents)) }
        if box.end > box.contents { parts.append(.zeros(box.end - box.contents)) }
        next = box.end
      case .bytes(let bytes) where bytes.lowerBound >= next && !bytes.isEmpty:
        if bytes.lowerBound > next { parts.append(.source(next..<bytes.lowerBound)) }
        parts.append(.zeros(bytes.upperBound - bytes.lowerBound))
        next = bytes.upperBound
      default: continue
      }
    }
    if next < range.upperBound { parts.append(.source(next..<range.upperBound)) }
    return parts
  }

  /// Returns a free box of `count` bytes, or zeros if there is no room for a box.
  static func free(_ count: Int64) -> [MendedFile.Part] {
    guard count >= 8 else { return [.zeros(count)] }
    let header = MovieBox.header("free", size: count)
    return [.bytes(header), .zeros(count - Int64(header.count))]
  }
}

extension BoundedSource {
  /// Whether the range holds nothing but zeros. False for more than 64 MiB, which are not read.
  func isBlank(_ range: Range<Int64>) -> Bool {
    guard range.upperBound - range.lowerBound <= 64 << 20 else { return false }
    var start = range.lowerBound
    while start < range.upperBound {
      let bytes = bytes(at: start, count: Int(min(1 << 20, range.upperBound - start)))
      guard !bytes.isEmpty, bytes.allSatisfy({ $0 == 0 }) else { return false }
      start += Int64(bytes.count)
    }
    return true
  }
}
