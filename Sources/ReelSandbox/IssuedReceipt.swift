import CSandbox
import ReelModel
import ReelSystem
import ReelWire

/// A receipt as it is handed out: the descriptor from which a worker can read it.
struct IssuedReceipt {
  let receipt: Receipt
  let descriptor: Descriptor

  /// - Throws: `tooManyOpenFiles`, `noReader`.
  init() throws(ProbeError) {
    var bytes = [UInt8](repeating: 0, count: Receipt.length)
    let number = reel_channel_secret(&bytes, bytes.count)
    guard number >= 0 else {
      let error = SystemError(code: -number, call: "memfd_create")
      throw .shortage(error) ?? .noReader("\(error)")
    }
    descriptor = Descriptor(adopting: number)
    guard let receipt = Receipt(bytes: bytes) else { throw .noReader("no receipt") }
    self.receipt = receipt
  }
}
