/// The places of a C2PA manifest in a file (C2PA Technical Specification, "Embedding manifests into assets").
package enum ContentCredentials {
  /// The identifier of the `uuid` box that holds a manifest or its Merkle trees.
  package static let box: [UInt8] = [
    0xD8, 0xFE, 0xC3, 0xD6, 0x1B, 0x0E, 0x48, 0x3C, 0x92, 0x97, 0x58, 0x28, 0x87, 0x7E, 0xC4, 0x81,
  ]
  /// The chunk that holds a manifest in RIFF (AVI, WebP).
  static let chunk: FourCharacterCode = "C2PA"
  /// The media types of manifests that are attached: to Matroska as files, to ID3 as objects (GEOB).
  private static let mediaTypes = ["application/c2pa", "application/x-c2pa-manifest-store"]
  /// The property of XMP that refers to a manifest stored elsewhere.
  private static let reference = Array("dcterms:provenance".utf8)

  /// Whether this is the media type of a manifest.
  package static func isManifest(mediaType: String) -> Bool { mediaTypes.contains(mediaType.lowercased()) }

  /// Whether these are the first bytes of a manifest store: a JUMBF superbox described as `c2pa`.
  package static func isManifest(_ bytes: ArraySlice<UInt8>) -> Bool {
    let (start, head) = (bytes.startIndex, bytes.prefix(20))
    return head.count == 20 && FourCharacterCode(head[(start + 4)...]) == "jumb"
      && FourCharacterCode(head[(start + 12)...]) == "jumd"
      && FourCharacterCode(head[(start + 16)...]) == "c2pa"
  }

  /// Whether ID3 has an object with the media type of a manifest.
  static func areAttached(toID3 bytes: ArraySlice<UInt8>) -> Bool {
    PlaceSearch.index(of: Array("GEOB".utf8), in: bytes) != nil
      && mediaTypes.contains { PlaceSearch.index(of: Array($0.utf8), in: bytes) != nil }
  }

  /// Whether XMP refers to a manifest.
  package static func areNamed(inXMP bytes: ArraySlice<UInt8>) -> Bool {
    PlaceSearch.index(of: reference, in: bytes) != nil
  }
}
