import ReelCore
import ReelProbe

/// The layout of the mended file.
struct MatroskaLayout {
  private let file: MatroskaFile
  private let source: BoundedSource
  /// The new Info elements, by their numbers among the items. Everything else is copied.
  private var infos: [Int: [UInt8]] = [:]
  /// The parts of what is copied that become Void.
  var dropped: MatroskaCredentials?

  /// - Parameter duration: the duration in ticks of the Segment.
  /// - Throws: `corrupt`.
  init(_ file: MatroskaFile, duration: Double, _ source: BoundedSource) throws(MendError) {
    (self.file, self.source) = (file, source)
    for (number, item) in file.items.enumerated() {
      if case .info(let range) = item { infos[number] = try info(range, duration) }
    }
  }

  private static let mostSought = 64

  func mended() throws(MendError) -> MendedFile {
    let firstCluster = file.items.firstIndex { if case .cluster = $0 { true } else { false } } ?? 0
    // Sizes do not depend on positions, so all positions are known before anything is written.
    let width = EBMLWriter.width(of: UInt64(file.end) + 64 << 20)
    let cuesSize = Int64(file.cues?.element({ _ in 0 }, width: width).count ?? 0)
    var sought = wanted(cues: 0)
    var position = Int64(seekHead(sought).count)
    var clusterPlaces: [Int64] = []
    var places: [Int64] = []
    var cuesPlace: Int64 = 0
    for (number, item) in file.items.enumerated() {
      if number == firstCluster {
        cuesPlace = position
        position += cuesSize
      }
      places.append(position)
      if case .cluster = item { clusterPlaces.append(position) }
      position += size(item, number)
    }
    sought = wanted(cues: cuesPlace, places)
    var mended = MendedFile()
    mended.append(0..<file.segment)
    mended.parts.append(
      .bytes(
        EBMLWriter.header(MatroskaID.segment, size: position, sizeWidth: 8) + seekHead(sought)))
    for (number, item) in file.items.enumerated() {
      if number == firstCluster, let cues = file.cues {
        mended.parts.append(.bytes(cues.element({ clusterPlaces[$0] }, width: width)))
      }
      append(item, number, to: &mended)
    }
    // What follows the Segment. In a file that was cut off, nothing does but the lost part.
    if !file.isCut { mended.append(file.end..<source.size) }
    return mended
  }

  // MARK: Items

  private func size(_ item: MatroskaFile.Item, _ number: Int) -> Int64 {
    switch item {
    case .cluster(let number):
      let cluster = file.clusters[number]
      return Int64(header(of: cluster)?.count ?? Int(cluster.contents - cluster.start)) + cluster.end
        - cluster.contents
    case .info: return Int64(infos[number]?.count ?? 0)
    case .other(_, let range): return range.upperBound - range.lowerBound
    }
  }

  /// Returns a new header; nil if the cluster states its size already.
  private func header(of cluster: MatroskaCluster) -> [UInt8]? {
    guard !cluster.hasSize || cluster.isCut else { return nil }
    let size = cluster.end - cluster.contents
    let width = EBMLWriter.fits(size, width: cluster.sizeWidth) ? cluster.sizeWidth : 8
    return EBMLWriter.header(MatroskaID.cluster, size: size, sizeWidth: width)
  }

  private func append(_ item: MatroskaFile.Item, _ number: Int, to mended: inout MendedFile) {
    switch item {
    case .info: mended.parts.append(.bytes(infos[number] ?? []))
    case .other(_, let range):
      if let dropped { mended.parts += dropped.dropped(from: range) } else { mended.append(range) }
    case .cluster(let number):
      let cluster = file.clusters[number]
      var next = cluster.start
      if let header = header(of: cluster) {
        mended.parts.append(.bytes(header))
        next = cluster.contents
      }
      for element in stale(in: cluster, number) {
        guard let end = element.end else { continue }
        mended.append(next..<element.start)
        mended.parts += EBMLWriter.void(end - element.start)
        next = end
      }
      mended.append(next..<cluster.end)
    }
  }

  /// Returns the elements that would become wrong: the position of a cluster, the size of the one before it, and the
  /// checksums of clusters in which such an element changes.
  private func stale(in cluster: MatroskaCluster, _ number: Int) -> [EBMLElement] {
    let keepsSize = number > 0 && keepsSize(file.clusters[number - 1])
    let isStale = { (element: EBMLElement) in
      element.id == MatroskaID.position || element.id == MatroskaID.previousSize && !keepsSize
    }
    let isChanged = cluster.isCut || cluster.moving.contains(where: isStale)
    return cluster.moving.filter { isStale($0) || isChanged && $0.id == MatroskaID.checksum }
  }

  private func keepsSize(_ cluster: MatroskaCluster) -> Bool {
    header(of: cluster).map { Int64($0.count) == cluster.contents - cluster.start } ?? true
  }

  /// Returns Info with the duration in it, and with a checksum if it had one.
  private func info(_ range: Range<Int64>, _ duration: Double) throws(MendError) -> [UInt8] {
    guard let element = EBMLElement(source, at: range.lowerBound) else { throw MatroskaCluster.damaged }
    let parts = element.elements(in: source)
    guard parts.last?.end ?? element.contents == range.upperBound else { throw MatroskaCluster.damaged }
    var contents: [UInt8] = []
    for part in parts where ![MatroskaID.duration, MatroskaID.checksum].contains(part.id) {
      let count = Int((part.end ?? part.start) - part.start)
      let bytes = source.bytes(at: part.start, count: count)
      guard bytes.count == count else { throw MatroskaCluster.damaged }
      contents += bytes
    }
    contents += EBMLWriter.element(MatroskaID.duration, real: duration)
    let hadChecksum = parts.contains { $0.id == MatroskaID.checksum }
    return EBMLWriter.element(
      MatroskaID.info, (hadChecksum ? EBMLWriter.checksum(of: contents) : []) + contents)
  }

  // MARK: The list of positions (SeekHead)

  /// - Parameter places: the positions of all items; empty if only their number matters.
  private func wanted(cues: Int64, _ places: [Int64] = []) -> [(id: UInt32, place: Int64)] {
    let named: Set<UInt32> = [
      MatroskaID.tracks, MatroskaID.chapters, MatroskaID.attachments, MatroskaID.tags,
    ]
    var found: [(id: UInt32, place: Int64)] = file.cues == nil ? [] : [(MatroskaID.cues, cues)]
    for (number, item) in file.items.enumerated() where found.count < Self.mostSought {
      let place = number < places.count ? places[number] : 0
      switch item {
      case .info: found.append((MatroskaID.info, place))
      case .other(let id, _) where named.contains(id): found.append((id, place))
      default: break
      }
    }
    return found
  }

  private func seekHead(_ sought: [(id: UInt32, place: Int64)]) -> [UInt8] {
    EBMLWriter.element(
      MatroskaID.seekHead,
      sought.flatMap { entry in
        EBMLWriter.element(
          MatroskaID.seek,
          EBMLWriter.element(MatroskaID.seekID, EBMLWriter.id(entry.id))
            + EBMLWriter.element(MatroskaID.seekPosition, number: UInt64(clamping: entry.place), width: 8))
      })
  }
}

extension MendedFile {
  /// Adds bytes of the source. Adjacent ones become one part.
  fileprivate mutating func append(_ range: Range<Int64>) {
    guard !range.isEmpty else { return }
    if case .source(let last)? = parts.last, last.upperBound == range.lowerBound {
      parts[parts.count - 1] = .source(last.lowerBound..<range.upperBound)
    } else {
      parts.append(.source(range))
    }
  }
}
