/// Where the samples of one track are: its data references, and which of them its sample entries use (ISO/IEC
/// 14496-12, 8.7.2 and 8.5.2; QuickTime File Format, "Data reference atoms").
struct DataReferences: Hashable {
  /// What the track holds, by the handler of its media (8.4.3).
  private var handler: FourCharacterCode?
  private enum Place {
    case here, elsewhere
    /// It is not flagged as this file, but names no other place.
    case unnamed
  }
  /// The references that were read.
  private var places: [Place] = []
  /// The numbers of the references that the sample entries use, from 1 on.
  private var used: Set<UInt64> = []

  /// The most references: a sample entry refers to one in 16 bits.
  private static let mostReferences = 65_535
  /// Kinds of references that are always to this file: identified media data (8.7.2.2).
  private static let withinFile: Set<FourCharacterCode> = ["imdt", "snim"]

  /// Whether the track is of pictures or of sound, or does not say.
  var isSeenOrHeard: Bool { handler == nil || handler == "vide" || handler == "soun" }

  /// Whether any of its samples are in another file; nil if the references do not tell.
  var isExternal: Bool? {
    let told = usedPlaces
    if told.contains(.elsewhere) { return true }
    return told.isEmpty || told.contains(nil) ? nil : false
  }

  /// Whether any of its samples are in a place that is not named. Some writers leave out the flag that means this
  /// file; but a file without media data is an index of another one.
  var isUnnamed: Bool { usedPlaces.contains(.unnamed) }

  private var usedPlaces: [Place?] {
    used.map { $0 >= 1 && $0 <= UInt64(places.count) ? places[Int($0) - 1] : nil }
  }

  mutating func takeHandler(_ box: ISOBox, of file: some ByteReading) {
    let bytes = file.bytes(at: box.contents + 8, count: 4)
    if bytes.count == 4 { handler = FourCharacterCode(bytes) }
  }

  /// Records of each reference only whether its flag means this file, and whether it names anything at all.
  mutating func takeReferences(_ box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4) else { return }
    let most = Int(min(count, UInt64(Self.mostReferences)))
    places = box.children(in: file, behind: 8, atMost: most).prefix { $0.end - $0.contents >= 4 }.map {
      entry in
      if Self.withinFile.contains(entry.type) { return .here }
      if file.bigEndian(at: entry.contents + 3, width: 1).map({ $0 & 1 == 1 }) == true { return .here }
      let isEmpty = entry.end - entry.contents == 4 || file.bigEndian(at: entry.contents + 4, width: 1) == 0
      return entry.type == "url " && isEmpty ? .unnamed : .elsewhere
    }
  }

  /// Records the reference of a sample entry, which follows the six reserved bytes of each.
  mutating func takeEntry(_ entry: ISOBox, of file: some ByteReading) {
    guard entry.end - entry.contents >= 8, let place = file.bigEndian(at: entry.contents + 6, width: 2) else {
      return
    }
    used.insert(place)
  }
}
