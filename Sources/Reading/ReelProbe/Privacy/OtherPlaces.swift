import ReelCore

/// The places in other containers, apart from the tags, covers and attachments that FFmpeg reports.
struct OtherPlaces {
  private(set) var found = Disclosures()
  private let file: BoundedSource

  /// The number of chunks or objects that are examined in one list.
  private static let most = 512
  private static let mostDepth = 6

  init(_ file: BoundedSource, _ container: MediaContainer, _ streams: StreamChoice) {
    self.file = file
    switch container {
    case .avi: lookIntoAVI()
    case .asf: lookIntoASF()
    case .flv: lookIntoFLV()
    case .ogg: lookIntoOgg()
    case .mpegTS, .m2ts:
      guard let stride = TransportPackets.stride(file, container) else { return }
      let shown = Set((streams.videos + streams.audios).map { Int($0.pointee.id) & 0x1FFF })
      let head = Int64(stride * Self.packets)
      lookIntoTransport(from: 0, stride, Self.packets, besides: shown)
      // A remote file is read at its beginning only.
      let tail = max(head, file.size - Int64(stride * Self.lastPackets))
      if tail < file.size, !file.isFar {
        lookIntoTransport(from: tail, stride, Self.lastPackets, besides: shown)
      }
    case .matroska, .webm: lookIntoMatroska()
    default: break
    }
  }

  private func contents(_ start: Int64, _ end: Int64) -> ArraySlice<UInt8> {
    file.bytes(at: start, count: Int(max(0, min(end - start, Int64(PlaceSearch.looked)))))[...]
  }

  // MARK: AVI

  /// The chunks of pictures and sound, and those that describe their layout.
  private static let media: Set<FourCharacterCode> = [
    "avih", "strh", "strf", "idx1", "indx", "dmlh", "vprp", "strn", "movi", "rec ",
  ]
  /// The chunks that name a location: the country and the location in INFO (RIFF's, and those of editors), and
  /// dashcams' data.
  private static let places: Set<FourCharacterCode> = ["ICNT", "LOCA", "ILOC", "gps0", "gps "]

  private mutating func lookIntoAVI() { lookIntoChunks(in: 0..<file.size, 0) }

  private mutating func lookIntoChunks(in range: Range<Int64>, _ depth: Int) {
    var next = range.lowerBound
    for _ in 0..<Self.most where next + 8 <= range.upperBound && depth < Self.mostDepth {
      let header = file.bytes(at: next, count: 12)
      guard header.count >= 8 else { return }
      let (type, length) = (
        FourCharacterCode(header), header[4..<8].reversed().reduce(0) { $0 << 8 | Int64($1) }
      )
      let end = min(next + 8 + length, range.upperBound)
      if type == "RIFF" || type == "LIST", header.count == 12 {
        if !Self.media.contains(FourCharacterCode(header[8...])) {
          lookIntoChunks(in: next + 12..<max(next + 12, end), depth + 1)
        }
      } else if type == ContentCredentials.chunk {
        found.note(.credentials)
      } else if Self.places.contains(type) {
        found.note(.location)
      } else if !Self.media.contains(type) {
        found.look(into: contents(next + 8, end))
      }
      next += 8 + length + length % 2
    }
  }

  // MARK: ASF

  /// The identifier of XMP, as a GUID and as the bytes of a UUID.
  private static let xmpObjects: [[UInt8]] = [
    [0xCB, 0xCF, 0x7A, 0xBE, 0xA9, 0x97, 0xE8, 0x42, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC],
    [0xBE, 0x7A, 0xCF, 0xCB, 0x97, 0xA9, 0x42, 0xE8, 0x9C, 0x71, 0x99, 0x94, 0x91, 0xE3, 0xAF, 0xAC],
  ]
  /// Looks for XMP among the outermost objects, and among those of the header. FFmpeg reports tags by their names.
  private mutating func lookIntoASF() {
    lookIntoObjects(in: 0..<file.size)
    lookIntoObjects(in: 30..<file.size)
  }

  private mutating func lookIntoObjects(in range: Range<Int64>) {
    var next = range.lowerBound
    for _ in 0..<Self.most where next + 24 <= range.upperBound {
      let id = file.bytes(at: next, count: 16)
      guard let size = file.littleEndian(at: next + 16, width: 8), size >= 24, size < UInt64(1) << 60 else {
        return
      }
      if Self.xmpObjects.contains(id) {
        let text = contents(next + 24, next + Int64(size))
        if ContentCredentials.areNamed(inXMP: text) { found.note(.credentials) }
        found.look(into: text)
      }
      next += Int64(size)
    }
  }

  // MARK: FLV

  /// Looks into the script data at the beginning, such as XMP (`onXMPData`). FFmpeg reports the names in `onMetaData`.
  private mutating func lookIntoFLV() {
    guard let header = file.bigEndian(at: 5, width: 4), header >= 9, header < 1 << 20 else { return }
    var next = Int64(header) + 4
    for _ in 0..<16 {
      guard let type = file.bigEndian(at: next, width: 1), let size = file.bigEndian(at: next + 1, width: 3)
      else {
        return
      }
      if type & 0x1F == 18 { found.look(into: contents(next + 11, next + 11 + Int64(size))) }
      next += 11 + Int64(size) + 4
    }
  }

  // MARK: Ogg

  /// Looks for C2PA's logical stream, which begins with its name. FFmpeg reports comments as tags.
  private mutating func lookIntoOgg() {
    var next: Int64 = 0
    for _ in 0..<32 {
      let page = file.bytes(at: next, count: 27 + 255 + 8)
      guard page.count > 27, FourCharacterCode(page) == "OggS" else { return }
      let lengths = page[27...].prefix(Int(page[26]))
      let packet = page.dropFirst(27 + lengths.count)
      if packet.starts(with: [0] + Array("c2pa".utf8)) { found.note(.credentials) }
      // The first pages of all streams come first.
      guard page[5] & 2 != 0 else { return }
      next += Int64(27 + lengths.count) + lengths.reduce(0) { $0 + Int64($1) }
    }
  }

  // MARK: MPEG-TS

  /// The key of MISB ST 0601's set, which unmanned aircraft send along with their pictures.
  private static let aircraft: [UInt8] = [
    0x06, 0x0E, 0x2B, 0x34, 0x02, 0x0B, 0x01, 0x01, 0x0E, 0x01, 0x03, 0x01, 0x01, 0x00, 0x00, 0x00,
  ]
  /// The number of packets that are examined at the beginning, and before the end. A camera that was just switched on
  /// finds its satellites later, and a key frame comes only once a second.
  private static let packets = 2048
  private static let lastPackets = 8192
  /// The stream identifiers that stand for neither pictures nor sound: private streams, and metadata (ISO/IEC 13818-1,
  /// 2.4.3.7).
  private static let unnamed: Set<UInt8> = [0xBD, 0xBF, 0xFC]

  /// - Parameter shown: the packet identifiers of pictures and sound.
  private mutating func lookIntoTransport(
    from start: Int64, _ stride: Int, _ count: Int, besides shown: Set<Int>
  ) {
    let head = file.bytes(at: start, count: stride * count)
    var (streams, others): ([Int: [UInt8]], Set<Int>) = ([:], [])
    let places = head.withUnsafeBufferPointer { Array(TransportPackets.Places($0, stride: stride)) }
    for packet in places {
      let (flags, id) = (head[packet + 3], Int(head[packet + 1] & 0x1F) << 8 | Int(head[packet + 2]))
      // Payload that is not scrambled.
      guard flags & 0x10 != 0, flags & 0xC0 == 0, id != 0x1FFF else { continue }
      let skipped = flags & 0x20 != 0 ? 5 + Int(head[packet + 4]) : 4
      guard skipped < 188 else { continue }
      let payload = head[(packet + skipped)..<(packet + 188)]
      if head[packet + 1] & 0x40 != 0, payload.starts(with: [0, 0, 1]), !shown.contains(id),
        let name = payload.dropFirst(3).first, Self.unnamed.contains(name)
      {
        others.insert(id)
      }
      streams[id, default: []] += payload
    }
    for (id, stream) in streams {
      found.note(inPictures: CameraMessage.disclosure(of: stream[...]))
      if PlaceSearch.index(of: Self.aircraft, in: stream[...]) != nil { found.note(.location) }
      // A dashcam's own stream is in no table, or is private.
      let start = stream.prefix(PlaceSearch.looked)
      if others.contains(id), PlaceSearch.findsWay(in: start) || PlaceSearch.findsInText(start) {
        found.note(.location)
      }
    }
  }

  // MARK: Matroska

  /// Looks at the first pictures, even if no block can be read.
  private mutating func lookIntoMatroska() {
    guard let header = EBMLElement(file, at: 0), let end = header.end,
      let segment = EBMLElement(file, at: end),
      let cluster = segment.children(in: file).last, cluster.id == MatroskaID.cluster
    else { return }
    found.note(
      inPictures: CameraMessage.disclosure(
        of: file.bytes(at: cluster.contents, count: CameraMessage.looked)[...]))
  }
}
