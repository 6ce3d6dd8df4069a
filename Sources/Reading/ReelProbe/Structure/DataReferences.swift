/// Where the samples of one track lie: its data references, and which of them its sample entries use (ISO/IEC 14496-12,
/// 8.7.2 and 8.5.2; QuickTime File Format, "Data reference atoms").
struct DataReferences: Hashable {
  /// What the track holds, by the handler of its media (8.4.3).
  private var handler: FourCharacterCode?
  private enum Place {
    case here, elsewhere
    /// Not here by its flag, and it says nowhere else.
    case unnamed
  }
  /// References that were read.
  private var places: [Place] = []
  /// The places that the sample entries name, from 1 on.
  private var used: Set<UInt64> = []

  /// A sample entry names its reference in 16 bits.
  private static let mostReferences = 65_535
  /// Boxes that are in this file by their kind: identified media data (8.7.2.2).
  private static let withinFile: Set<FourCharacterCode> = ["imdt", "snim"]

  /// Whether it is a track of pictures or of sound, or does not say.
  var isSeenOrHeard: Bool { handler == nil || handler == "vide" || handler == "soun" }

  /// Whether any of its samples lie in another file; nil when the references do not tell.
  var isExternal: Bool? {
    let told = usedPlaces
    if told.contains(.elsewhere) { return true }
    return told.isEmpty || told.contains(nil) ? nil : false
  }

  /// Whether any of its samples lie where nothing says. Writers leave out the flag of this file; what has no media data is an
  /// index of another one.
  var isUnnamed: Bool { usedPlaces.contains(.unnamed) }

  private var usedPlaces: [Place?] {
    used.map { $0 >= 1 && $0 <= UInt64(places.count) ? places[Int($0) - 1] : nil }
  }

  mutating func takeHandler(_ box: ISOBox, of file: some ByteReading) {
    let bytes = file.bytes(at: box.contents + 8, count: 4)
    if bytes.count == 4 { handler = FourCharacterCode(bytes) }
  }

  /// Of each reference only the flag counts that says whether it is this file, and whether it names anything at all.
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

  /// Behind the six reserved bytes of every sample entry.
  mutating func takeEntry(_ entry: ISOBox, of file: some ByteReading) {
    guard entry.end - entry.contents >= 8, let place = file.bigEndian(at: entry.contents + 6, width: 2) else {
      return
    }
    used.insert(place)
  }
}
