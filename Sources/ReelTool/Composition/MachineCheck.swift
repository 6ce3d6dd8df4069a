import FoundationEssentials
import Glibc
import ReelCore
import ReelIngest
import ReelSource

/// What a machine can find out about itself where many files in a row have failed on it: evidence that nobody who may
/// upload something has a hand in.
struct MachineCheck: Sendable {
  let services: IngestServices

  /// What is wrong with the way that every file goes here: it is copied where private copies are made, and read by a
  /// worker. Nil where a video that is known to be one goes it. Blocks.
  func problem() -> String? {
    do {
      let staging = services.uploader.staging ?? services.staging
      guard let copy = try PrivateCopy.make(of: SampleVideo.file, in: staging) else { return nil }
      _ = try services.prober.probe(copy.source, cancellation: CancellationFlag())
      return nil
    } catch let failure as PrivateCopy.Failure {
      switch failure {
      case .source(let error): return error.text.description
      case .staging(let error): return error.told
      }
    } catch let error as ProbeError {
      return error.told
    } catch {
      return "\(error)"
    }
  }

  /// Whether nothing answers where these files lie. Blocks for some seconds.
  func reachesNone(of addresses: [SourcePath]) -> Bool {
    // What stands between would have to be asked.
    if ["http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"].contains(where: {
      (name: String) in getenv(name) != nil
    }) {
      return false
    }
    let places = addresses.compactMap { $0.isAddress ? AddressPlace($0.text) : nil }
    let hosts = Dictionary(places.map { ($0.owner, $0) }) { first, _ in first }.values
    return places.count == addresses.count && !hosts.contains(where: \.isReachable)
  }

  /// Whether the store answers; false for a folder, which tells nothing of the network.
  var reachesTheStore: Bool { AddressPlace(services.uploader.destination.name)?.isReachable ?? false }
}

/// A frame of black, 16 by 16 pixels, in an MP4.
private enum SampleVideo {
  static var file: SourceFile {
    let bytes = Array(Data(base64Encoded: text) ?? Data())
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
