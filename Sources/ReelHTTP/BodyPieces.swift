#if HTTP
  import NIOCore
  import ReelModel
  import ReelUploading

  /// A body's bytes as they are handed to the connection, in pieces small enough to show whether it moves, at a limiter's
  /// pace: what goes out counts, not what was read.
  struct BodyPieces<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
  where Base.Element == [UInt8], Base.Failure == UploadError {
    typealias Element = ByteBuffer
    /// Those of the base; `cancelled` while it waits.
    typealias Failure = UploadError

    let base: Base
    let watch: BodyWatch
    let limiter: RateLimiter?

    func makeAsyncIterator() -> Iterator {
      Iterator(
        base: base.makeAsyncIterator(), watch: watch, limiter: limiter,
        size: Swift.min(bodyPieceSize, limiter?.largestPiece ?? .max))
    }

    struct Iterator: AsyncIteratorProtocol {
      var base: Base.AsyncIterator
      let watch: BodyWatch
      let limiter: RateLimiter?
      let size: Int
      private var rest: ArraySlice<UInt8> = []

      init(base: Base.AsyncIterator, watch: BodyWatch, limiter: RateLimiter?, size: Int) {
        self.base = base
        self.watch = watch
        self.limiter = limiter
        self.size = size
      }

      /// The next bytes that may go; nil after the last.
      mutating func next(isolation actor: isolated (any Actor)?) async throws(UploadError) -> ByteBuffer? {
        watch.isTaken()
        if rest.isEmpty {
          guard let chunk = try await base.next(isolation: actor) else {
            watch.hasEnded()
            return nil
          }
          rest = chunk[...]
        }
        let piece = ByteBuffer(bytes: rest.prefix(size))
        rest = rest.dropFirst(size)
        do throws(CancellationError) {
          try await limiter?.passing(piece.readableBytes)
        } catch {
          throw UploadError(.cancelled, "cancelled while it was sent")
        }
        watch.isHandedOver()
        return piece
      }
    }
  }

  /// Bytes that are at hand, as one chunk.
  struct OneChunk: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = UploadError

    let bytes: [UInt8]

    func makeAsyncIterator() -> Iterator { Iterator(left: bytes) }

    struct Iterator: AsyncIteratorProtocol {
      var left: [UInt8]?

      mutating func next(isolation actor: isolated (any Actor)?) async throws(UploadError) -> [UInt8]? {
        defer { left = nil }
        return left
      }
    }
  }

  /// At the 1.5 KB/s that a slow line has left for one of many, this is gone before anybody calls it silence.
  private let bodyPieceSize = 1 << 16
#endif
