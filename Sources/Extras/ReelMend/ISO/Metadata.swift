import ReelProbe

/// The rules for what is removed from a file's boxes, by the list of places that says what they give away
/// (``MoviePlaces``).
struct MetadataStripping {
  /// What is removed; nil if only Content Credentials are.
  let stripping: Stripping?
  let dropsCredentials: Bool
  /// The handler type of the track that is looked into.
  fileprivate var handler: FourCharacterCode?
  /// The IDs of all tracks, if an index is looked into.
  fileprivate var tracks: Set<UInt32> = []

  init(stripping: Stripping?, dropsCredentials: Bool) {
    (self.stripping, self.dropsCredentials) = (stripping, dropsCredentials)
  }

  enum Fate {
    case stays, goes, isLookedInto, isPicture
  }

  /// Returns what happens to a box.
  /// - Parameters:
  ///   - parent: the type of the box that contains it; nil for the file.
  ///   - isWhole: whether `contents` returns all of it.
  func fate(
    of type: FourCharacterCode, in parent: FourCharacterCode?, isWhole: Bool = true,
    _ contents: () -> ArraySlice<UInt8>
  ) -> Fate {
    let disclosure = MoviePlaces.disclosure(of: type, in: parent, contents)
    switch disclosure {
    case .nothing: return .stays
    case .parts: return isWhole ? .isLookedInto : stripping == nil ? .stays : .goes
    case .picture: return .isPicture
    // What a manifest says about locations and makers is not removed piece by piece.
    case .credentials:
      let tells =
        switch stripping {
        case .everything: true
        case .location: PlaceSearch.finds(in: contents())
        case nil: false
        }
      return dropsCredentials || tells ? .goes : .stays
    // A box that was not examined to its end may name a location.
    case .identity where !isWhole: return stripping == nil ? .stays : .goes
    default: return stripping?.takes(disclosure) ?? false ? .goes : .stays
    }
  }
}

extension MovieBox {
  /// For an index, or a box of metadata: removes what it gives away.
  /// - Returns: whether anything was removed.
  mutating func strip(_ rules: MetadataStripping) -> Bool {
    let before = self
    var rules = rules
    rules.tracks = Set(boxes.compactMap(\.trackID))
    stripParts(rules)
    return self != before
  }

  private static let lists: Set<FourCharacterCode> = ["udta", "meta", "meco"]

  private mutating func stripParts(_ rules: MetadataStripping) {
    var rules = rules
    if type == "trak" { rules.handler = handler }
    switch (type, rules.stripping) {
    case ("hdlr", .everything): blankHandlerName()
    case ("stsd", .some): stripEntries(rules)
    case ("dref", .some): stripReferences(rules)
    case ("tref", .some): keepReferences(to: rules.tracks)
    default: break
    }
    guard case .boxes(let head, var boxes, var tail) = content else { return }
    content = .bytes([])
    if type == "meta", let stripping = rules.stripping { boxes = Self.withoutKeys(boxes, stripping) }
    // Bytes after the last box that are no box.
    if rules.stripping != nil { tail = [UInt8](repeating: 0, count: tail.count) }
    boxes = boxes.compactMap { box in
      switch rules.fate(of: box.type, in: type, { box.contents }) {
      case .goes: return nil
      case .isPicture: return box.withPictures(rules, mayStay: false)
      case .stays where type == "ilst": return box.withPictures(rules, mayStay: true)
      case .stays, .isLookedInto:
        var box = box
        let wasEmpty = box.boxes.isEmpty
        box.stripParts(rules)
        return !wasEmpty && box.boxes.isEmpty && Self.lists.contains(box.type) ? nil : box
      }
    }
    content = .boxes(head: head, boxes, tail: tail)
  }

  /// For metadata whose items refer to keys by their numbers (QuickTime): returns the boxes without the keys that give
  /// something away, and without their items.
  private static func withoutKeys(_ boxes: [MovieBox], _ stripping: Stripping) -> [MovieBox] {
    guard let keys = boxes.first(where: { $0.type == "keys" })?.bytes, keys.count >= 8 else { return boxes }
    let (all, _) = children(of: keys.dropFirst(8))
    // The new number of each key. Those that are removed have none.
    var (numbers, kept): ([UInt32: UInt32], [MovieBox]) = ([:], [])
    let items = boxes.first { $0.type == "ilst" }?.boxes ?? []
    for (index, key) in all.enumerated() {
      let number = UInt32(clamping: index + 1)
      var disclosure = MetadataKey.disclosure(of: String(decoding: key.contents, as: UTF8.self))
      if disclosure == .identity,
        items.contains(where: { $0.type.value == number && PlaceSearch.finds(in: $0.contents) })
      {
        disclosure = .location
      }
      guard !stripping.takes(disclosure) else { continue }
      kept.append(key)
      numbers[number] = UInt32(clamping: kept.count)
    }
    guard kept.count < all.count else { return boxes }
    return boxes.map { box in
      var box = box
      if box.type == "keys" {
        var bytes = Array(keys.prefix(4))
        bytes.appendBigEndian(UInt32(clamping: kept.count))
        box.bytes = bytes + kept.flatMap(\.serialized)
      } else if box.type == "ilst" {
        box.boxes = box.boxes.compactMap { item in
          guard let number = numbers[item.type.value] else { return nil }
          var item = item
          item.type = FourCharacterCode(withUnsafeBytes(of: number.bigEndian) { Array($0) })
          return item
        }
      }
      return box
    }
  }

  // MARK: Covers

  /// For an item: returns it with its pictures, without their metadata.
  /// - Parameter mayStay: whether data that is no picture is something else, and not a cover that cannot be parsed.
  /// - Returns: nil if nothing is left of it.
  private func withPictures(_ rules: MetadataStripping, mayStay: Bool) -> MovieBox? {
    var item = self
    let (parts, rest) = Self.children(of: contents)
    let kept = parts.compactMap { part -> MovieBox? in
      // A cover's name is a file name.
      guard part.type == "data" else { return mayStay || rules.stripping != .everything ? part : nil }
      guard let picture = PictureMetadata(part.contents.dropFirst(8)) else {
        return mayStay || rules.stripping == nil ? part : nil
      }
      guard rules.stripping != nil && !picture.isEmpty || rules.dropsCredentials && picture.hasCredentials
      else { return part }
      return MovieBox("data", Array(part.contents.prefix(8)) + picture.picture)
    }
    guard kept != parts else { return self }
    guard kept.contains(where: { $0.type == "data" }) else { return nil }
    item.content = .boxes(head: [], kept, tail: rules.stripping == nil ? Array(rest) : [])
    return item
  }

  // MARK: Names, and what is left in sample entries

  /// For a handler (ISO/IEC 14496-12, 8.4.3): blanks its name, which is only meant for debugging players.
  private mutating func blankHandlerName() {
    let start = 24
    guard case .bytes(var bytes) = content, bytes.count > start,
      !MoviePlaces.isHarmless(handlerName: bytes[start...])
    else { return }
    for place in start..<bytes.count { bytes[place] = 0 }
    content = .bytes(bytes)
  }

  /// The position of the encoder's name among the fields of a video sample entry, up to 31 bytes after its length
  /// (12.1.3), and the size of these fields.
  private static let (coderName, pictureFields) = (42..<74, 78)

  /// For a table of sample entries, which keep their sizes: overwrites with zeros what was left there, and what is not
  /// known to be needed. What follows the last one is removed.
  private mutating func stripEntries(_ rules: MetadataStripping) {
    guard case .bytes(var bytes) = content, let table = MoviePlaces.entries(ofTable: bytes[...]) else {
      return
    }
    for entry in table.entries {
      let parts = MoviePlaces.boxes(inSampleEntry: entry.contents, of: rules.handler)
      for part in parts where rules.fate(of: part.type, in: "stsd", { part.contents }) != .stays {
        bytes.replaceSubrange(
          (part.contents.startIndex - 4)..<part.contents.startIndex, with: Array("free".utf8))
        for place in part.contents.indices { bytes[place] = 0 }
      }
      for place in parts.last?.rest.indices ?? 0..<0 { bytes[place] = 0 }
      if rules.stripping == .everything, rules.handler == "vide", entry.contents.count >= Self.pictureFields {
        let start = entry.contents.startIndex
        let name = start + Self.coderName.lowerBound..<start + Self.coderName.upperBound
        if !MoviePlaces.isHarmless(coderName: bytes[name]) {
          for place in name { bytes[place] = 0 }
        }
      }
    }
    if !Self.isBlank(table.rest) { bytes.removeLast(table.rest.count) }
    content = .bytes(bytes)
  }

  /// Whether bytes are nothing but zeros, and free boxes of zeros.
  private static func isBlank(_ bytes: ArraySlice<UInt8>) -> Bool {
    let boxes = MoviePlaces.boxes(in: bytes)
    return boxes.allSatisfy { MoviePlaces.isUnused($0.type) && $0.contents.allSatisfy { $0 == 0 } }
      && (boxes.last?.rest ?? bytes).allSatisfy { $0 == 0 }
  }

  /// For a table of data references: removes names. A reference to the file itself needs none (8.7.2), and QuickTime's
  /// contain those of a disk and its folders. What follows the last one is removed.
  private mutating func stripReferences(_ rules: MetadataStripping) {
    guard case .bytes(let bytes) = content, let table = MoviePlaces.entries(ofTable: bytes[...]) else {
      return
    }
    let named: Set<FourCharacterCode> = ["url ", "urn ", "alis", "rsrc"]
    var stripped = Array(bytes.prefix(8))
    for entry in table.entries {
      let isThisFile = entry.contents.dropFirst(3).first.map { $0 & 1 == 1 } ?? false
      let isUnknown = rules.fate(of: entry.type, in: type) { entry.contents } != .stays
      if isUnknown
        || named.contains(entry.type) && isThisFile
          && !entry.contents.dropFirst(4).allSatisfy({ $0 == 0 })
      {
        // Sample entries refer to them by number, so each keeps its place, and a reference to another file remains one.
        let type: FourCharacterCode = !isUnknown ? entry.type : isThisFile ? "url " : "urn "
        stripped += MovieBox(type, [0, 0, 0, isThisFile ? 1 : 0]).serialized
      } else {
        stripped += MovieBox(entry.type, Array(entry.contents)).serialized
      }
    }
    if Self.isBlank(table.rest) { stripped += table.rest }
    content = .bytes(stripped)
  }

  /// For a track's references to others (8.3.3): removes IDs that no track has. 0 stands for none.
  private mutating func keepReferences(to tracks: Set<UInt32>) {
    for place in boxes.indices {
      let bytes = boxes[place].bytes
      let numbers = (0..<bytes.count / 4).map { bytes.bigEndian32(at: 4 * $0) }
      guard bytes.count % 4 != 0 || !numbers.allSatisfy({ $0 == 0 || tracks.contains($0) }) else { continue }
      var kept: [UInt8] = []
      for number in numbers where tracks.contains(number) { kept.appendBigEndian(number) }
      boxes[place].bytes = kept
    }
    boxes.removeAll { $0.bytes.isEmpty }
  }
}
