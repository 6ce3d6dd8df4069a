/// What a file was found to give away.
struct Disclosures: Hashable {
  private(set) var location = false
  /// Whether text that is shown gives away the location.
  private(set) var isInText = false
  /// Whether messages in the pictures give away the location.
  private(set) var isInPictures = false
  private(set) var credentials = false

  mutating func note(_ disclosure: Disclosure) {
    switch disclosure {
    case .location: location = true
    case .credentials: credentials = true
    default: break
    }
  }

  /// - Parameter disclosure: what messages in pictures give away.
  mutating func note(inPictures disclosure: Disclosure) {
    note(disclosure)
    if disclosure == .location { isInPictures = true }
  }

  /// Notes a location in text that is shown.
  mutating func noteLocationInText() {
    note(.location)
    isInText = true
  }

  mutating func note(_ others: Disclosures) {
    location = location || others.location
    isInText = isInText || others.isInText
    isInPictures = isInPictures || others.isInPictures
    credentials = credentials || others.credentials
  }

  /// Searches bytes of any structure for a location.
  mutating func look(into bytes: ArraySlice<UInt8>) {
    if !location, PlaceSearch.finds(in: bytes) { location = true }
  }

  mutating func look(intoPicture bytes: ArraySlice<UInt8>) {
    guard let metadata = PictureMetadata(bytes) else { return look(into: bytes.prefix(PlaceSearch.looked)) }
    if metadata.namesPlace { location = true }
    if metadata.hasCredentials { credentials = true }
  }
}

// MARK: Boxes

extension Disclosures {
  /// The number of bytes that are read of user data and metadata. Covers may follow, which FFmpeg presents as streams.
  private static let mostMetadata: Int64 = 256 << 10
  private static let mostDepth = 8

  /// Looks into a box in a parent of the given type, which is nil for the file.
  mutating func look(into box: ISOBox, in parent: FourCharacterCode?, of file: some ByteReading) {
    let isList = box.type == "udta" || box.type == "meta" || box.type == "meco"
    let most = isList ? Self.mostMetadata : Int64(PlaceSearch.looked)
    var read: [UInt8]?
    let contents = {
      if read == nil {
        read = file.bytes(at: box.contents, count: Int(max(0, min(most, box.end - box.contents))))
      }
      return (read ?? [])[...]
    }
    look(into: box.type, in: parent, 0, contents)
  }

  /// Looks into the entries of a table (`stsd`, `dref`), and into what follows the last one.
  /// - Parameter handler: the handler type of the track.
  mutating func look(intoTable box: ISOBox, of file: some ByteReading, handler: FourCharacterCode? = nil) {
    let length = min(Int64(PlaceSearch.looked), max(0, box.end - box.contents))
    let bytes = file.bytes(at: box.contents, count: Int(length))
    guard let table = MoviePlaces.entries(ofTable: bytes[...]) else { return }
    look(into: table.rest)
    for entry in table.entries {
      guard box.type == "stsd" else {
        look(into: entry.type, in: box.type, 0) { entry.contents }
        continue
      }
      let parts = MoviePlaces.boxes(inSampleEntry: entry.contents, of: handler)
      for part in parts { look(into: part.type, in: box.type, 0) { part.contents } }
      if let rest = parts.last?.rest { look(into: rest) }
    }
  }

  private mutating func look(
    into type: FourCharacterCode, in parent: FourCharacterCode?, _ depth: Int,
    _ contents: () -> ArraySlice<UInt8>
  ) {
    let disclosure = MoviePlaces.disclosure(of: type, in: parent, contents)
    note(disclosure)
    // A manifest may name the location, too.
    if disclosure == .credentials { look(into: contents()) }
    guard disclosure == .parts, depth < Self.mostDepth else { return }
    let parts =
      type == "meta"
      ? MoviePlaces.metadata(contents(), isCut: true) : MoviePlaces.boxes(in: contents(), isCut: true)
    for part in parts {
      if part.type == "keys", type == "meta" {
        for key in MoviePlaces.boxes(in: part.contents.dropFirst(8), isCut: true) {
          note(MetadataKey.disclosure(of: String(decoding: key.contents, as: UTF8.self)))
        }
      }
      look(into: part.type, in: type, depth + 1) { part.contents }
    }
  }
}
