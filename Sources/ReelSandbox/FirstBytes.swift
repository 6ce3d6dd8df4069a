import ReelModel
import ReelSniffer

/// What a file's first bytes say, before any other program sees it.
enum FirstBytes {
  /// The container.
  /// - Throws: the sniffer's refusal; `notMedia` for bytes that it does not know; `unreadable`, `sourceChanged`.
  static func container(of file: SourceFile) throws(ProbeError) -> MediaContainer {
    switch Sniffer.verdict(head: try head(of: file), size: file.size) {
    case .container(let container): return container
    case .refused(let error): throw error
    case .unrecognised:
      throw ProbeError(.notMedia, "it begins like no video that Reel knows")
    }
  }

  private static func head(of file: SourceFile) throws(ProbeError) -> [UInt8] {
    let wanted = max(0, Int(clamping: min(file.size, Int64(Sniffer.headLength))))
    let head = UnsafeMutableRawBufferPointer.allocate(byteCount: wanted, alignment: 16)
    defer { head.deallocate() }
    var filled = 0
    while filled < wanted {
      let rest = UnsafeMutableRawBufferPointer(rebasing: head[filled...])
      let count = try read(file.handle, into: rest, at: Int64(filled))
      if count == 0 { break }
      filled += count
    }
    return [UInt8](head.prefix(filled))
  }

  private static func read(
    _ handle: any SourceHandle, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
  ) throws(ProbeError) -> Int {
    do throws(SourceError) {
      return try handle.read(into: buffer, at: offset)
    } catch {
      throw ProbeError(error.code == .sourceChanged ? .sourceChanged : .unreadable, error.message)
    }
  }
}
