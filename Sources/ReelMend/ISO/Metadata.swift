import ReelProbe

/// What is taken out of a file's boxes, by the list of places that says what they give away (``MoviePlaces``).
struct MetadataStripping {
  /// Nil where only Content Credentials go.
  let stripping: Stripping?
  let dropsCredentials: Bool
  /// Whether what is looked into is a track of pictures.
  fileprivate var isOfPictures = false

  init(stripping: Stripping?, dropsCredentials: Bool) {
    (self.stripping, self.dropsCredentials) = (stripping, dropsCredentials)
  }

  enum Fate {
    case stays, goes, isLookedInto, isPicture
  }

  /// What becomes of a box.
  /// - Parameters:
  ///   - parent: the type of what it stands in; nil for the file.
  ///   - isWhole: whether `contents` are all there is in it.
  func fate(
    of type: FourCharacterCode, in parent: FourCharacterCode?, isWhole: Bool = true,
    _ contents: () -> ArraySlice<UInt8>
  ) -> Fate {
    let disclosure = MoviePlaces.disclosure(of: type, in: parent, contents)
    switch disclosure {
    case .nothing: return .stays
    case .parts: return isWhole ? .isLookedInto : stripping == nil ? .stays : .goes
    case .picture: return .isPicture
    // What a manifest says, of places and makers, is not taken apart.
    case .credentials:
      let tells =
        switch stripping {
        case .everything: true
        case .location: PlaceSearch.finds(in: contents())
        case nil: false
        }
      return dropsCredentials || tells ? .goes : .stays
    // What was not looked at to its end may name a place.
    case .identity where !isWhole: return stripping == nil ? .stays : .goes
    default: return stripping?.takes(disclosure) ?? false ? .goes : .stays
    }
  }
}

extension MovieBox {
  /// Of an index, or of what holds metadata: takes out what is given away.
  /// - Returns: whether there was any.
  mutating func strip(_ rules: MetadataStripping) -> Bool {
    let before = self
    stripParts(rules)
    return self != before
  }

  private static let lists: Set<FourCharacterCode> = ["udta", "meta", "meco"]

  private mutating func stripParts(_ rules: MetadataStripping) {
    var rules = rules
    if type == "trak" { rules.isOfPictures = handler == "vide" }
    switch (type, rules.stripping) {
    case ("hdlr", .everything): blankHandlerName()
    case ("stsd", .some): blankEntries(rules)
    default: break
    }
    guard case .boxes(let head, var boxes, var tail) = content else { return }
    content = .bytes([])
    if type == "meta", let stripping = rules.stripping { boxes = Self.withoutKeys(boxes, stripping) }
    // What is behind the last box and is none.
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

  /// Of metadata whose items are named by their keys' numbers (QuickTime): without the keys that give something away, and
  /// their items.
  private static func withoutKeys(_ boxes: [MovieBox], _ stripping: Stripping) -> [MovieBox] {
    guard let keys = boxes.first(where: { $0.type == "keys" })?.bytes, keys.count >= 8 else { return boxes }
    let (all, _) = children(of: keys.dropFirst(8))
    // The number of each key from then on; those that go have none.
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

  /// Of an item: its pictures without their metadata.
  /// - Parameter mayStay: whether what is no picture is something else, and not a cover that can't be taken apart.
  /// - Returns: nil where nothing is left of it.
  private func withPictures(_ rules: MetadataStripping, mayStay: Bool) -> MovieBox? {
    var item = self
    let (parts, rest) = Self.children(of: contents)
    let kept = parts.compactMap { part -> MovieBox? in
      // A cover's name is that of a file.
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

  /// Of a handler (ISO/IEC 14496-12, 8.4.3): its name is text for whoever debugs a player.
  private mutating func blankHandlerName() {
    let start = 24
    guard case .bytes(var bytes) = content, bytes.count > start,
      !MoviePlaces.isHarmless(handlerName: bytes[start...])
    else { return }
    for place in start..<bytes.count { bytes[place] = 0 }
    content = .bytes(bytes)
  }

  /// Where the boxes of a sample entry may begin: behind the fields of sound (QuickTime's versions 0, 1 and 2), and of
  /// pictures.
  private static let entryFields = [28, 44, 64, 78]
  private static let pictureFields = 78

  /// Of a table of sample entries, which keep their sizes: makes what was left there, or what is not known to be needed,
  /// zeros.
  private mutating func blankEntries(_ rules: MetadataStripping) {
    guard case .bytes(var bytes) = content else { return }
    for entry in MoviePlaces.boxes(in: bytes.dropFirst(8)) {
      let parts = Self.entryFields.lazy.map {
        (fields: $0, boxes: MoviePlaces.boxes(in: entry.contents.dropFirst($0)))
      }
      .first { $0.boxes.last.map { $0.rest.count < 8 } ?? false }
      for part in parts?.boxes ?? [] where rules.fate(of: part.type, in: "stsd", { part.contents }) != .stays
      {
        bytes.replaceSubrange(
          (part.contents.startIndex - 4)..<part.contents.startIndex, with: Array("free".utf8))
        for place in part.contents.indices { bytes[place] = 0 }
      }
      if rules.stripping == .everything, rules.isOfPictures, entry.contents.count >= Self.pictureFields {
        // A name of up to 31 bytes behind its length (12.1.3).
        let name = entry.contents.startIndex + 42
        if !MoviePlaces.isHarmless(coderName: bytes[name..<name + 32]) {
          for place in name..<name + 32 { bytes[place] = 0 }
        }
      }
    }
    content = .bytes(bytes)
  }
}
