import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import Reel

/// Receives the body of a request into an upload.
struct Receiver: Sendable {
  let store: UploadStore
  let judge: Judge
  let reader: BodyReader
  let prober: any MediaProber
  /// The size of the largest video, in bytes.
  let maxSize: Int64

  /// The outcome of a body.
  enum Received: Sendable {
    /// The upload as it is now.
    case taken(Upload)
    /// It was refused because of its first bytes.
    case refused(Verdict)
  }

  /// Receives the body into an upload, which gets no more bytes than it may have. The caller must hold the upload.
  /// - Parameters:
  ///   - checksum: of the body.
  ///   - form: extracts the video from the body, if it is a form.
  ///   - stop: the signal that the holder of the upload got.
  /// - Throws: what ended it early; what has come until then is kept.
  func receive(
    _ request: Request, _ context: ServerContext, into upload: Upload,
    checksum: PartChecksum? = nil, form: FormReader? = nil, until stop: StopSignal
  ) async throws(Problem) -> Received {
    let (prober, judge) = (prober, judge)
    let most = min(upload.state.length ?? .max, most(for: upload))
    let writer = try await UploadWriter.open(
      upload, in: store, checksum: checksum,
      nearEnd: { Task { await judge.expectOne() } },
      firstLook: { file throws(ProbeError) in _ = try prober.firstLook(at: file) })
    do {
      let end = try await taking(request, context, writer, most, form, until: stop)
      let offset = try await writer.finish(isWhole: end == .whole)
      switch end {
      case .whole: break
      case .cut: throw Problem(.badRequest, "interrupted", "the request was cut off before its end")
      case .tooSlow:
        // Clients of resumable uploads abandon an upload at a 4xx.
        throw Problem(
          upload.state.isResumable ? .serviceUnavailable : .requestTimeout, "tooSlow",
          "the bytes came too slowly", retryAfter: 1)
      case .overtaken:
        throw Problem(.badRequest, "interrupted", "another request for this upload arrived and continues it")
      case .shutDown: throw Problem.shuttingDown
      }
      var taken = upload
      (taken.offset, taken.touchedAt) = (offset, store.now)
      return .taken(taken)
    } catch let problem as Problem {
      throw problem
    } catch let error as ProbeError {
      guard case .verdict(let verdict) = Judgement(error) else {
        throw Problem(.serviceUnavailable, error.code.rawValue, error.message, retryAfter: 10)
      }
      try await judge.refuse(upload, verdict)
      return .refused(verdict)
    } catch {
      // Nothing else is thrown here.
      throw Problem(.internalServerError, "unexpected", "\(error)")
    }
  }

  /// The largest number of bytes that an upload may have.
  func most(for upload: Upload) -> Int64 { min(upload.state.most ?? maxSize, maxSize) }

  private func taking(
    _ request: Request, _ context: ServerContext, _ writer: UploadWriter, _ most: Int64, _ form: FormReader?,
    until stop: StopSignal
  ) async throws -> BodyReader.End {
    do {
      return try await reader.read(request, context, until: stop) { bytes in
        let bytes = try form?.video(in: bytes) ?? bytes
        guard writer.offset + Int64(bytes.readableBytes) <= most else { throw Problem.tooLarge(most) }
        try await writer.append(bytes)
      }
    } catch let problem as Problem {
      _ = try await writer.finish(isWhole: false)
      throw problem
    }
  }
}

/// The conditions under which a client may upload.
struct UploadTerms: Sendable {
  let id: UploadID
  let maxSize: Int64
  /// What is certain about the video, whatever its sender says.
  private let ticket: UploadTicket?

  /// The terms of a client that may do everything.
  init(maxSize: Int64) { (id, self.maxSize, ticket) = (UploadID(), maxSize, nil) }

  init(_ ticket: UploadTicket, maxSize: Int64) {
    (id, self.ticket) = (ticket.id, ticket)
    self.maxSize = min(maxSize, ticket.maxSize ?? maxSize)
  }

  /// Until when it is remembered that the address is spent.
  var rememberedUntil: Date? { ticket?.expires }

  /// The most bytes of each text from a stranger.
  private static let longestWord = 4_096

  /// The metadata of the post.
  /// - Parameter said: returns what the sender said, by name.
  /// - Throws: a 400 for a text that is too long.
  func words(_ said: (String) -> String?) throws(Problem) -> PostMetadata {
    for name in ["caption", "music"] where ticket != nil && (said(name)?.utf8.count ?? 0) > Self.longestWord {
      throw .badRequest("\(name) is longer than \(Self.longestWord) bytes")
    }
    let author = ticket == nil ? said("author") : ticket?.author
    try UploadTicket.check(author: author)
    return PostMetadata(
      authorID: author,
      authorName: ticket == nil ? said("authorName") : nil,
      caption: said("caption"), music: said("music"))
  }

  /// - Throws: a 413 for an upload that is too large.
  func check(_ length: Int64?) throws(Problem) {
    if let length, length > maxSize { throw .tooLarge(maxSize) }
  }
}
