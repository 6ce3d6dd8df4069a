/// Where the samples of one track lie: its data references, and which of them its sample entries use (ISO/IEC 14496-12,
/// 8.7.2 and 8.5.2; QuickTime File Format, "Data reference atoms").
struct DataReferences: Hashable {
  /// What the track holds, by the handler of its media (8.4.3).
  private var handler: FourCharacterCode?
  /// References that were read, by their place: true for another file.
  private var places: [Bool] = []
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
    let told = used.map { $0 >= 1 && $0 <= UInt64(places.count) ? places[Int($0) - 1] : nil }
    if told.contains(true) { return true }
    return told.isEmpty || told.contains(nil) ? nil : false
  }

  mutating func takeHandler(_ box: ISOBox, of file: some ByteReading) {
    let bytes = file.bytes(at: box.contents + 8, count: 4)
    if bytes.count == 4 { handler = FourCharacterCode(bytes) }
  }

  /// Of each reference only the flag counts that says whether it is this file, not what else it names; one that names nothing
  /// leads nowhere else.
  mutating func takeReferences(_ box: ISOBox, of file: some ByteReading) {
    guard let count = file.bigEndian(at: box.contents + 4, width: 4) else { return }
    let most = Int(min(count, UInt64(Self.mostReferences)))
    places = box.children(in: file, behind: 8, atMost: most).prefix { $0.end - $0.contents >= 4 }.map {
      entry in
      if Self.withinFile.contains(entry.type) { return false }
      let isEmpty = entry.end - entry.contents == 4 || file.bigEndian(at: entry.contents + 4, width: 1) == 0
      if entry.type == "url ", isEmpty { return false }
      return file.bigEndian(at: entry.contents + 3, width: 1).map { $0 & 1 == 0 } ?? true
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
