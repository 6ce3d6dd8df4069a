import CReel
import ReelCore
import ReelWire

/// Checks a worker's facts against what is known independently.
enum ReplyValidation {
  /// Checks the container and the size.
  /// - Throws: `implausible`.
  static func check(_ media: MediaInfo, sniffed: MediaContainer, size: Int64) throws(ProbeError) {
    // Among containers that share a demuxer, the reader may decide which one it is.
    guard media.container.demuxer == sniffed.demuxer else {
      throw ProbeError(
        .implausible,
        "its first bytes are those of a .\(sniffed.fileExtension), but its reader says .\(media.container.fileExtension)"
      )
    }
    guard media.size == size else {
      throw ProbeError(.implausible, "it has \(size) bytes, but its reader says \(media.size)")
    }
  }
}

/// A receipt to be handed out, with the descriptor from which a worker can read it.
struct IssuedReceipt {
  let receipt: Receipt
  let descriptor: Descriptor

  /// Draws a receipt.
  /// - Throws: `tooManyOpenFiles`, `noReader`.
  init() throws(ProbeError) {
    var bytes = [UInt8](repeating: 0, count: Receipt.length)
    let number = reel_channel_secret(&bytes, bytes.count)
    guard number >= 0 else {
      throw .noReader(SystemError(code: -number, call: "memfd_create"))
    }
    descriptor = Descriptor(adopting: number)
    guard let receipt = Receipt(bytes: bytes) else { throw .noReader("no receipt") }
    self.receipt = receipt
  }
}
