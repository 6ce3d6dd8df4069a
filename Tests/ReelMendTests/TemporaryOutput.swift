import Glibc
import ReelCore
import ReelProbe
import ReelTestSupport

@testable import ReelMend

/// The result of mending a file on disk in this process.
struct MendedCopy {
  let done: Set<Mend>
  let path: String
  private let folder: TemporaryFolder

  static let limits = ReadingLimits(bytes: 1 << 40, seconds: 600)

  /// - Throws: ``MendError``.
  init(of path: String, as container: MediaContainer, _ options: MendOptions) throws {
    folder = try TemporaryFolder()
    self.path = folder.path(of: "mended")
    let (source, output) = (
      open(path, O_RDONLY | O_CLOEXEC), open(self.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    )
    defer {
      close(source)
      close(output)
    }
    done = try FileMender(limits: Self.limits)
      .mend(
        descriptor: source, size: fileSize(path), container: container, options: options, output: output
      ).done
  }

  /// Changes one byte.
  func corrupt(at offset: Int64) {
    let file = open(path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var byte: UInt8 = 0
    _ = pread(file, &byte, 1, off_t(offset))
    byte ^= 1
    _ = pwrite(file, &byte, 1, off_t(offset))
  }
}

func digests(
  of path: String, as container: MediaContainer, without exclusion: StreamDigest.Options.Exclusion = .nothing,
  most: [Int64]? = nil, mediaTimeOnly: Bool = false, shapeCounts: Bool = true, metadataCounts: Bool = true
) throws -> [StreamDigest] {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  let options = StreamDigest.Options(
    exclusion: exclusion, most: most, mediaTimeOnly: mediaTimeOnly, shapeCounts: shapeCounts,
    metadataCounts: metadataCounts, seed: 7)
  return try PacketDigests(limits: MendedCopy.limits, options: options)
    .digests(descriptor: file, size: fileSize(path), container: container)
}

func facts(of path: String, as container: MediaContainer) throws -> MediaInfo {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  // A busy machine may take long. A reading that has used half of its time leaves out facts.
  return try FFmpegReader(limits: ReadingLimits(seconds: 600))
    .read(.descriptor(file), size: fileSize(path), container: container).media
}

func fileSize(_ path: String) -> Int64 {
  var status = stat()
  return stat(path, &status) == 0 ? Int64(status.st_size) : -1
}

func contents(of path: String) -> [UInt8] {
  let file = open(path, O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: Int(max(0, fileSize(path))))
  let count = pread(file, &bytes, bytes.count, 0)
  return Array(bytes.prefix(max(0, count)))
}
