import ReelModel

/// What the outermost structure of a file tells, read without FFmpeg: brands, order, and where it ends by its
/// own account.
struct FileStructure {
  /// The container, by brand or DocType where the file has one.
  let container: MediaContainer
  /// For ISO base media files.
  let iso: ISOFileMap?
  /// For Matroska.
  let matroska: MatroskaFileMap?

  init(_ file: some ByteReading, sniffed container: MediaContainer) {
    iso = container.isISO ? ISOFileMap(file) : nil
    matroska = container.isMatroska ? MatroskaFileMap(file) : nil
    self.container = Self.refine(container, iso: iso, matroska: matroska)
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
    guard let majorBrand else {
      self = .mov
      return
    }
    let text = majorBrand.text
    if text == "qt  " {
      self = .mov
    } else if text.hasPrefix("M4V") {
      self = .m4v
    } else if text.hasPrefix("3gp") {
      self = .threeGP
    } else if text.hasPrefix("3g2") {
      self = .threeG2
    } else {
      self = .mp4
    }
  }
}
