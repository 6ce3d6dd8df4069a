import ReelWire

/// Room for one frame and the receipt before it, kept so that no file asks for it anew. Used by one thread at a time.
final class FrameBuffer {
  let bytes = UnsafeMutableRawBufferPointer.allocate(
    byteCount: Receipt.length + WireFrame.largest, alignment: 16)

  deinit {
    bytes.deallocate()
  }
}
