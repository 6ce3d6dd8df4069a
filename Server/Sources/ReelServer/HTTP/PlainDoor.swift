import HTTPTypes
import Hummingbird
import Reel

/// Uploads that come whole in the body of one request: `curl --upload-file`, `fetch`, a form.
struct PlainDoor: Sendable {
  let receiver: Receiver
  /// What precedes the path in an upload's address.
  let publicURL: String
  private var store: UploadStore { receiver.store }
  private var judge: Judge { receiver.judge }

  func take(_ request: Request, _ context: ServerContext, _ terms: UploadTerms) async throws(Problem)
    -> Response
  {
    guard request.headers[.contentRange] == nil else {
      throw .badRequest("a part of a video can't be put: send it whole, or by tus")
    }
    guard try Tus.hasBody(request.headers) else { throw .noVideo }
    let form = try FormReader(contentType: request.headers[.contentType])
    let length = try Tus.contentLength(request.headers)
    // A form has somewhat more bytes than its video.
    let least = form == nil ? length : length.map { max(0, $0 - Int64(FormReader.longestRest)) }
    try terms.check(least)
    let query = request.uri.queryParameters
    let state = UploadState(
      length: form == nil ? length : nil, most: terms.maxSize,
      words: try terms.words { query[Substring($0)].map(String.init) },
      isResumable: false,
      createdAt: store.now, rememberedUntil: terms.rememberedUntil)
    let waits = !request.headers.prefers("respond-async")
    let received = try await store.takingOver(terms.id) { stop throws(Problem) in
      // A one-time address that was used before tells its outcome again.
      if let known = try await store.begin(terms.id, state, atLeast: least) {
        return Receiver.Received.taken(known)
      }
      return try await receive(request, context, state, terms, form, isKept: !waits, until: stop)
    }
    switch received {
    case .refused(let verdict): return .judgement(.verdict(verdict))
    case .taken(let upload) where waits:
      let judgement = await judge.judgement(of: upload)
      // Its sender is told to send it again, so it must not be published without the sender's knowledge.
      if case .postponed = judgement { try? await store.discard(upload.id, madeAt: state.createdAt) }
      return .judgement(judgement)
    case .taken(let upload):
      // The client asks for the outcome at the upload's address.
      Task { await judge.judgement(of: upload) }
      return .json(
        .accepted, UploadKeys(upload, expires: upload.expires(after: store.lifetime)),
        headers: [.location: "\(publicURL)/uploads/\(upload.id)", .preferenceApplied: "respond-async"])
    }
  }

  /// - Parameter isKept: whether the upload must survive a crash, because it is answered before its verdict.
  private func receive(
    _ request: Request, _ context: ServerContext, _ state: UploadState, _ terms: UploadTerms,
    _ form: FormReader?, isKept: Bool, until stop: StopSignal
  ) async throws(Problem) -> Receiver.Received {
    do throws(Problem) {
      let received = try await receiver.receive(
        request, context, into: Upload(id: terms.id, state: state, offset: 0, touchedAt: store.now),
        form: form, until: stop)
      guard case .taken(var upload) = received else { return received }
      (upload.state.length, upload.state.isResumable) = (upload.offset, isKept)
      if let form {
        try form.check()
        upload.state.words = try terms.words { form[$0] }.completed(by: state.words)
      }
      guard upload.offset > 0 else { throw .noVideo }
      // After a crash it must also be known that the upload is complete.
      if isKept {
        try await store.keep(upload)
      } else if state.length == nil {
        try await store.save(upload)
      }
      return .taken(upload)
    } catch {
      try? await store.remove(terms.id)
      throw error
    }
  }
}
