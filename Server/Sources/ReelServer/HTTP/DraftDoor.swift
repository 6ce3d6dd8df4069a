import HTTPTypes
import Hummingbird
import Reel

/// Uploads by the IETF's draft, as `URLSession` sends them: a plain upload that can be resumed after an interruption.
struct DraftDoor: Sendable {
  let receiver: Receiver
  /// What precedes the path in an upload's address.
  let publicURL: String
  private var store: UploadStore { receiver.store }

  func options(_ request: Request) throws(Problem) -> Response {
    let version = try Draft.version(request.headers)
    return Response(
      status: .noContent,
      headers: [
        .uploadDraftInteropVersion: "\(version.rawValue)",
        .uploadLimit: "min-size=0, max-size=\(receiver.maxSize)",
      ])
  }

  /// Answers a request that begins an upload, and may bring all of it.
  func create(_ request: Request, _ context: ServerContext, _ terms: UploadTerms) async throws(Problem)
    -> Response
  {
    let part = try Draft.Part(request.headers, isCreation: true)
    try terms.check(part.total ?? part.length)
    let query = request.uri.queryParameters
    let state = UploadState(
      length: part.total, most: terms.maxSize,
      words: try terms.words { query[Substring($0)].map(String.init) }, isResumable: true,
      createdAt: store.now, rememberedUntil: terms.rememberedUntil)
    let place: HTTPFields = [.location: "\(publicURL)/uploads/\(terms.id)"]
    let received = try await store.takingOver(terms.id) { stop throws(Problem) in
      // A client whose first request was cut off before it learned the upload's address begins again.
      if let known = try await store.begin(terms.id, state) { return Receiver.Received.taken(known) }
      // From here on the sender can resume. Some proxies take this response for the final one (nginx does), and it
      // is not mandatory.
      if !Access.isOfProxy(request.headers), !request.headers.closesConnection {
        var head = HTTPResponse(status: .uploadResumptionSupported, headerFields: place)
        head.headerFields[.uploadDraftInteropVersion] = "\(part.version.rawValue)"
        await context.inform(head)
      }
      let upload = Upload(id: terms.id, state: state, offset: 0, touchedAt: store.now)
      return try await receive(request, context, upload, part, until: stop)
    }
    return await answer(received, part, place)
  }

  /// Answers a `PATCH`.
  func append(_ id: UploadID, _ request: Request, _ context: ServerContext) async throws(Problem) -> Response
  {
    let part = try Draft.Part(request.headers, isCreation: false)
    let received = try await store.takingOver(id) { stop throws(Problem) in
      let upload = try await store.find(id)
      guard upload.state.isResumable else { throw .noSuchUpload }
      do throws(Problem) {
        return try await append(request, context, upload, part, until: stop)
      } catch {
        throw await store.placed(error, id) {
          Draft.headers(part.version, offset: $0.offset, isComplete: $0.isComplete)
        }
      }
    }
    return await answer(received, part, [:])
  }

  private func append(
    _ request: Request, _ context: ServerContext, _ upload: Upload, _ part: Draft.Part,
    until stop: StopSignal
  ) async throws(Problem) -> Receiver.Received {
    var upload = upload
    guard part.offset == upload.offset else { throw .standsElsewhere(upload.offset, than: part.offset) }
    // A client that missed the answer asks again.
    if upload.isComplete { return .taken(upload) }
    if let total = part.total {
      guard upload.state.length ?? total == total, total >= upload.offset else {
        throw .badRequest("the upload would not have the length that was said")
      }
      let most = receiver.most(for: upload)
      guard total <= most else { throw .tooLarge(most) }
      if upload.state.length == nil {
        upload.state.length = total
        try await store.save(upload)
      }
    }
    return try await receive(request, context, upload, part, until: stop)
  }

  /// Receives the body. The caller must hold the upload. What came before an interruption is kept.
  private func receive(
    _ request: Request, _ context: ServerContext, _ upload: Upload, _ part: Draft.Part,
    until stop: StopSignal
  ) async throws(Problem) -> Receiver.Received {
    let received = try await receiver.receive(request, context, into: upload, until: stop)
    guard case .taken(var taken) = received, part.completes else { return received }
    guard taken.state.length == nil || taken.isComplete else {
      throw .badRequest("the upload ends before the length that was said")
    }
    taken.state.length = taken.offset
    try await store.save(taken)
    return .taken(taken)
  }

  /// Answers a `HEAD`.
  func offset(_ id: UploadID, _ request: Request) async throws(Problem) -> Response {
    let version = try Draft.version(request.headers)
    let found = try await store.findAtRest(id)
    let upload = try await receiver.judge.told(
      found, request, place: Draft.headers(version, offset: found.offset, isComplete: found.isComplete))
    return Response(
      status: upload.state.isUnwanted ? .unprocessableContent : .noContent,
      headers: Draft.headers(
        version, offset: upload.offset, isComplete: upload.isComplete, length: upload.state.length
      ).merging([.cacheControl: "no-store"]))
  }

  private func answer(
    _ received: Receiver.Received, _ part: Draft.Part, _ place: HTTPFields
  ) async -> Response {
    switch received {
    case .refused(let verdict):
      return .judgement(.verdict(verdict), headers: place)
    case .taken(let upload):
      let headers = place.merging(
        Draft.headers(part.version, offset: upload.offset, isComplete: upload.isComplete))
      guard upload.isComplete else { return Response(status: .created, headers: headers) }
      return .judgement(await receiver.judge.judgement(of: upload), headers: headers)
    }
  }
}

extension HTTPResponse.Status {
  /// draft-ietf-httpbis-resumable-upload.
  static let uploadResumptionSupported = HTTPResponse.Status(
    code: 104, reasonPhrase: "Upload Resumption Supported")
}
