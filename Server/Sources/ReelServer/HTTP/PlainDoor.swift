import HTTPTypes
import Hummingbird
import Reel

/// Uploads that come whole, as the body of one request: `curl --upload-file`, `fetch`, a form.
struct PlainDoor: Sendable {
  let receiver: Receiver
  private var store: UploadStore { receiver.store }
  private var judge: Judge { receiver.judge }

  init(_ receiver: Receiver) { self.receiver = receiver }

  func take(_ request: Request, _ context: ServerContext, _ terms: UploadTerms) async throws(Problem)
    -> Response
  {
    guard request.headers[.contentRange] == nil else {
      throw .badRequest("a part of a video can't be put: send it whole, or by tus")
    }
    let form = FormReader(contentType: request.headers[.contentType])
    let length = try Tus.contentLength(request.headers)
    // A form has some bytes more than its video.
    if form == nil { try terms.check(length) }
    let query = request.uri.queryParameters
    let state = UploadState(
      length: form == nil ? length : nil, most: terms.maxSize,
      words: terms.words { query[Substring($0)].map(String.init) },
      isResumable: false,
      createdAt: store.now, rememberedUntil: terms.rememberedUntil)
    let waits = !request.headers.prefers("respond-async")
    let received = try await store.holding(terms.id) { () throws(Problem) in
      try await receive(request, context, state, terms, form, isKept: !waits)
    }
    switch received {
    case .refused(let verdict): return .judgement(.verdict(verdict))
    case .taken(let upload) where waits:
      let judgement = await judge.judgement(of: upload)
      // Its sender is told to send it again, so it is not published behind their back.
      if case .postponed = judgement {
        try await store.holding(upload.id) { () throws(Problem) in try await store.remove(upload.id) }
      }
      return .judgement(judgement)
    case .taken(let upload):
      // Asked for at its address.
      Task { await judge.judgement(of: upload) }
      return .json(
        .accepted, UploadKeys(upload, expires: upload.expires(after: store.lifetime)),
        headers: [.location: "/uploads/\(upload.id)", .preferenceApplied: "respond-async"])
    }
  }

  /// - Parameter isKept: whether it is to be there after a crash, as it is answered before its verdict.
  private func receive(
    _ request: Request, _ context: ServerContext, _ state: UploadState, _ terms: UploadTerms,
    _ form: FormReader?,
    isKept: Bool
  ) async throws(Problem) -> Receiver.Received {
    if let known = try await store.make(terms.id, state) {
      // A one-time address that has served its time says again what came of it.
      if known.state.verdict != nil { return .taken(known) }
      try await store.remove(terms.id)
      _ = try await store.make(terms.id, state)
    }
    do {
      let received = try await receiver.receive(
        request, context, into: Upload(id: terms.id, state: state, offset: 0, touchedAt: store.now), form: form)
      guard case .taken(var upload) = received else { return received }
      (upload.state.length, upload.state.isResumable) = (upload.offset, isKept)
      if let form {
        try form.check()
        upload.state.words = terms.words { form[$0] }.completed(by: state.words)
      }
      if isKept || form != nil { try await store.save(upload) }
      return .taken(upload)
    } catch {
      try await store.remove(terms.id)
      throw error
    }
  }
}
