import ReelCore

/// What the outermost structure of a file tells, read without FFmpeg: brands, order, and where it ends by its
/// own account.
struct FileStructure {
  /// The container, by brand or DocType where the file has one.
  let container: MediaContainer
  /// For ISO base media files.
  let iso: ISOFileMap?
  /// For Matroska.
  let matroska: MatroskaFileMap?
  /// For AVI.
  let avi: AVIHeaders?
  /// For several AVI files that were joined.
  let aviParts: AVIParts?
  /// Seconds that an FLV's `onMetaData` states, which FFmpeg does not keep apart from what it finds, or an ASF's header,
  /// which it tells of the streams only.
  let metadataDuration: Double?
  /// For an FLV whose tags name codecs.
  let namedCodecs: FLVNamedCodecs?
  /// The two sizes that the header of an ASF or an Ogg gives its pictures, where they differ.
  let unlikeSizes: [PixelSize]
  /// Streams that an ASF lists under another kind.
  let misnamedInASF: [MediaWarning]
  /// The times of an Ogg file's pages; nil for a large file.
  let ogg: OggTimes?
  /// What an MXF's header says.
  let mxf: MXFSets?
  /// What of a transport stream is scrambled.
  let scrambling: TransportPackets.Scrambling?

  /// Whether the file ends before its own account says; nil when that can't be proved either way. For ISO base
  /// media files the index must be asked.
  let truncated: Bool?
  /// Whether its content is encrypted, as far as it can be seen from here; of a transport stream, whether all of it is.
  let encrypted: Bool?

  /// Whether the index has the time of every frame.
  var stepsAreIndexed: Bool { iso.map { $0.fragments == 0 || $0.fragmentTable != nil } ?? false }

  /// How many files were joined in an Ogg or an AVI, and what they last together, if all of them tell; nil for one.
  var joinedFiles: (count: Int, seconds: Double?)? {
    if let ogg, ogg.links > 1 { return (ogg.links, ogg.seconds) }
    return aviParts.map { ($0.count, truncated == true ? nil : $0.seconds) }
  }

  init(_ file: some ByteReading, sniffed container: MediaContainer) {
    iso = container.isISO ? ISOFileMap(file) : nil
    matroska = container.isMatroska ? MatroskaFileMap(file) : nil
    avi = container == .avi ? AVIHeaders(file) : nil
    aviParts = container == .avi ? AVIParts(file) : nil
    let sizes = container == .asf ? ASFFile.sizes(file) : nil
    misnamedInASF = container == .asf ? ASFFile.misnamed(file) : []
    ogg = container == .ogg ? OggTimes(file) : nil
    unlikeSizes =
      sizes.map { $0.stated == $0.format ? [] : [$0.stated, $0.format] } ?? ogg?.unlikeSizes ?? []
    metadataDuration =
      switch container {
      case .flv: FLVFile.metadata("duration", of: file)
      case .asf: ASFFile.duration(file)
      default: nil
      }
    namedCodecs = container == .flv ? FLVNamedCodecs(file) : nil
    mxf = container == .mxf ? MXFSets(file) : nil
    scrambling = TransportPackets.scrambling(file, container)
    truncated = Self.isTruncated(file, container) ?? matroska?.truncated
    encrypted =
      container == .asf
      ? ASFFile.isEncrypted(file)
      : scrambling.map { !$0.streams.isEmpty && !$0.leavesClear } ?? iso?.encrypted
    self.container = Self.refine(container, iso: iso, matroska: matroska)
  }

  private static func isTruncated(_ file: some ByteReading, _ container: MediaContainer) -> Bool? {
    switch container {
    case .avi: AVIFile.isTruncated(file)
    case .flv: FLVFile.isTruncated(file)
    case .ogg: OggFile.isTruncated(file)
    case .asf: ASFFile.isTruncated(file)
    case .mxf: MXFFile.isTruncated(file)
    default: nil
    }
  }

  private static func refine(
    _ container: MediaContainer, iso: ISOFileMap?, matroska: MatroskaFileMap?
  ) -> MediaContainer {
    if let iso { return MediaContainer(majorBrand: iso.majorBrand) }
    switch matroska?.docType {
    case "webm": return .webm
    case "matroska": return .matroska
    default: return container
    }
  }
}

extension MediaContainer {
  /// By the major brand of `ftyp`; a file without one is QuickTime, which is older than brands.
  init(majorBrand: FourCharacterCode?) {
    self = majorBrand.map { MediaContainer(majorBrand: $0.value) } ?? .mov
  }
}
