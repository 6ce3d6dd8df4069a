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
  /// The seconds that an FLV's `onMetaData` states, which FFmpeg does not separate from what it finds, or that an
  /// ASF's header states, which FFmpeg reports only for the streams.
  let metadataDuration: Double?
  /// For an FLV whose tags name codecs.
  let namedCodecs: FLVNamedCodecs?
  /// The two sizes that the header of an ASF or an Ogg states for its pictures, if they differ.
  let unlikeSizes: [PixelSize]
  /// Warnings about streams that an ASF lists as another kind.
  let misnamedInASF: [MediaWarning]
  /// The times of an Ogg file's pages; nil for a large file.
  let ogg: OggTimes?
  /// What an MXF's header states.
  let mxf: MXFSets?
  /// Which parts of a transport stream are scrambled.
  let scrambling: TransportPackets.Scrambling?

  /// Whether the file ends before its own account says; nil if that can't be proved either way. For ISO base media
  /// files the index has to be examined.
  let truncated: Bool?
  /// Whether its content is encrypted, as far as the structure shows; of a transport stream, whether all of it is.
  let encrypted: Bool?

  /// Whether the index has the time of every frame.
  var stepsAreIndexed: Bool { iso.map { $0.fragments == 0 || $0.fragmentTable != nil } ?? false }

  /// The number of files that were joined in an Ogg or an AVI, and their total duration, if all of them tell; nil for
  /// a single file.
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
  /// The container for the major brand in `ftyp`. A file without one is QuickTime, which is older than brands.
  init(majorBrand: FourCharacterCode?) {
    self = majorBrand.map { MediaContainer(majorBrand: $0.value) } ?? .mov
  }
}
