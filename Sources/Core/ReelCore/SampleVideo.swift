import FoundationEssentials

/// A black frame of 16 by 16 pixels, in an MP4.
package enum SampleVideo {
  package static let bytes = Array(Data(base64Encoded: text) ?? Data())

  package static var file: SourceFile {
    let identity = FileIdentity(device: 0, inode: 0, size: Int64(bytes.count), modifiedAt: 0, changedAt: 0)
    return SourceFile(
      path: SourcePath("sample.mp4"), identity: identity, handle: Handle(bytes: bytes, identity: identity))
  }

  private struct Handle: SourceHandle {
    let bytes: [UInt8]
    let identity: FileIdentity
    var descriptor: Int32? { nil }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
      guard let start = Int(exactly: offset), bytes.indices.contains(start) else { return 0 }
      let part = bytes[start...].prefix(buffer.count)
      buffer.copyBytes(from: part)
      return part.count
    }

    func currentIdentity() throws(SourceError) -> FileIdentity { identity }
  }

  // ffmpeg -f lavfi -i color=black:s=16x16:r=1:d=1 -c:v libx264 -preset ultrafast -pix_fmt yuv420p
  //   -bsf:v filter_units=remove_types=6 -fflags +bitexact -flags:v +bitexact -movflags +faststart
  private static let text = """
    AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAALobW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAAA+gAAQAAAQAA\
    AAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAA\
    Ajd0cmFrAAAAXHRraGQAAAADAAAAAAAAAAAAAAABAAAAAAAAA+gAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAA\
    AAAAAAAAAAAAAABAAAAAABAAAAAQAAAAAAAkZWR0cwAAABxlbHN0AAAAAAAAAAEAAAPoAAAAAAABAAAAAAGvbWRpYQAAACBtZGhk\
    AAAAAAAAAAAAAAAAAABAAAAAQABVxAAAAAAALWhkbHIAAAAAAAAAAHZpZGUAAAAAAAAAAAAAAABWaWRlb0hhbmRsZXIAAAABWm1p\
    bmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5mAAAAHGRyZWYAAAAAAAAAAQAAAAx1cmwgAAAAAQAAARpzdGJsAAAAtnN0c2QA\
    AAAAAAAAAQAAAKZhdmMxAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAABAAEABIAAAASAAAAAAAAAABDExhdmMgbGlieDI2NAAAAAAA\
    AAAAAAAAAAAAAAAAAAAAGP//AAAALGF2Y0MBQsAK/+EAFWdCwAraewEQAAADABAAAAMAIPEiagEABGjOD8gAAAAQcGFzcAAAAAEA\
    AAABAAAAFGJ0cnQAAAAAAAAAcAAAAHAAAAAYc3R0cwAAAAAAAAABAAAAAQAAQAAAAAAcc3RzYwAAAAAAAAABAAAAAQAAAAEAAAAB\
    AAAAFHN0c3oAAAAAAAAADgAAAAEAAAAUc3RjbwAAAAAAAAABAAADGAAAAD11ZHRhAAAANW1ldGEAAAAAAAAAIWhkbHIAAAAAAAAA\
    AG1kaXJhcHBsAAAAAAAAAAAAAAAACGlsc3QAAAAIZnJlZQAAABZtZGF0AAAACmWIhDomKAAJAuA=
    """
}
