import FoundationEssentials
import HTTPTypes
import Hummingbird
import Reel

/// Uploads by tus 1.0.0, which can be resumed after any interruption.
struct TusDoor: Sendable {
  let receiver: Receiver
  /// What precedes the path in an upload's address: nothing, or scheme and host.
  let publicURL: String
  private var store: UploadStore { receiver.store }
  private var judge: Judge { receiver.judge }

  func options() -> Response {
    Response(
      status: .noContent,
      headers: [
        .tusVersion: Tus.version, .tusExtension: Tus.extensions, .tusMaxSize: "\(receiver.maxSize)",
        .tusChecksumAlgorithm: PartChecksum.algorithms,
      ])
  }

  /// Answers a `POST`. By an address for one upload it always leads to the same upload, however often it comes.
  func create(_ request: Request, _ context: ServerContext, _ terms: UploadTerms) async throws(Problem)
    -> Response
  {
    let creation = try Tus.Creation(request.headers)
    try terms.check(creation.length)
    let state = UploadState(
      length: creation.length, most: terms.maxSize, words: try terms.words { creation.metadata[$0] },
      isResumable: true,
      metadataHeader: creation.metadataHeader, createdAt: store.now, rememberedUntil: terms.rememberedUntil)
    let received = try await store.takingOver(terms.id) { stop throws(Problem) in
      try await create(request, context, state, terms, creation, until: stop)
    }
    return await answer(received, terms.id, request, created: true)
  }

  private func create(
    _ request: Request, _ context: ServerContext, _ state: UploadState, _ terms: UploadTerms,
    _ creation: Tus.Creation, until stop: StopSignal
  ) async throws(Problem) -> Receiver.Received {
    if let known = try await store.make(terms.id, state) {
      // Another file of the same length would be mixed with what is there of the first.
      let metadata = try UploadMetadata(parsing: known.state.metadataHeader ?? "")
      guard known.state.isResumable, known.state.length == state.length, metadata == creation.metadata else {
        throw .spent(.conflict)
      }
      return .taken(known)
    }
    let upload = Upload(id: terms.id, state: state, offset: 0, touchedAt: store.now)
    guard try Tus.hasBody(request.headers) || state.length == 0 else { return .taken(upload) }
    do {
      return try await receiver.receive(
        request, context, into: upload, checksum: creation.checksum, until: stop)
    } catch {
      // The upload exists, and its sender must learn its address: `HEAD` tells how far it came.
      guard error.status != HTTPResponse.Status.checksumMismatch.code else { throw error }
      return .taken(try await store.find(terms.id))
    }
  }

  /// Answers a `HEAD`. At the end of an upload clients take the answer for its outcome, so it waits for the verdict, as
  /// `PATCH` does.
  func offset(_ id: UploadID, _ request: Request) async throws(Problem) -> Response {
    try Tus.checkVersion(request.headers)
    let found = try await store.findAtRest(id)
    let upload = try await judge.told(found, request, place: place(of: found))
    var headers = place(of: upload)
    headers[.cacheControl] = "no-store"
    headers[.uploadLength] = upload.state.length.map { "\($0)" }
    headers[.uploadMetadata] = upload.state.metadataHeader
    return Response(
      status: upload.state.isUnwanted ? .unprocessableContent : .ok,
      headers: headers.merging(Response.headers(of: upload.state.verdict)))
  }

  /// Answers a `PATCH`.
  func append(_ id: UploadID, _ request: Request, _ context: ServerContext) async throws(Problem) -> Response
  {
    let part = try Tus.Part(request.headers)
    let upload = try await store.find(id)
    guard upload.state.isResumable else { throw .noSuchUpload }
    let received: Receiver.Received
    if upload.isComplete {
      do throws(Problem) {
        try check(part, upload)
      } catch {
        throw await store.placed(error, id) { place(of: $0) }
      }
      received = .taken(upload)
    } else {
      received = try await store.takingOver(id) { stop throws(Problem) in
        let upload = try await store.find(id)
        do throws(Problem) {
          try check(part, upload)
          return try await receiver.receive(
            request, context, into: upload, checksum: part.checksum, until: stop)
        } catch {
          throw await store.placed(error, id) { place(of: $0) }
        }
      }
    }
    return await answer(received, id, request, created: false)
  }

  /// - Throws: 409, 413.
  private func check(_ part: Tus.Part, _ upload: Upload) throws(Problem) {
    guard part.offset == upload.offset else {
      throw .standsElsewhere(upload.offset, than: part.offset)
    }
    let (end, isTooLarge) = part.offset.addingReportingOverflow(part.length ?? 0)
    guard !isTooLarge, end <= upload.state.length ?? 0 else {
      throw .longerThanSaid
    }
  }

  /// Answers a `DELETE`, also one of the draft.
  func remove(_ id: UploadID, _ request: Request) async throws(Problem) -> Response {
    if !Draft.isSpoken(in: request.headers) { try Tus.checkVersion(request.headers) }
    try await judge.concludeUnwritten(id)
    try await store.takingOver(id) { _ throws(Problem) in
      let upload = try await store.find(id)
      // A complete upload may be a post that must still be reported. If it were begun again, its address would make
      // another one.
      if upload.isComplete, upload.state.verdict == nil { throw .busy }
      // The outcome of an address for one upload is remembered.
      if upload.state.rememberedUntil != nil, upload.state.verdict != nil { return }
      try await store.remove(id)
    }
    return Response(status: .noContent)
  }

  /// Answers a `GET`, which tus leaves open, with what became of the upload.
  func look(_ id: UploadID) async throws(Problem) -> Response {
    let upload = try await store.find(id)
    return .json(
      .ok, UploadKeys(upload, expires: upload.expires(after: store.lifetime)),
      problem: upload.state.verdict?.problem, headers: Response.headers(of: upload.state.verdict))
  }

  /// The answer to a request that has sent bytes: after the last of them it tells what became of the video.
  ///
  /// As tus requires, it is a 204 with the verdict in its headers. A client that prefers it (`return=representation`)
  /// gets the verdict as JSON. A refusal is not a success, and always has a body.
  private func answer(
    _ received: Receiver.Received, _ id: UploadID, _ request: Request, created: Bool
  ) async -> Response {
    let headers: HTTPFields
    let judgement: Judgement
    switch received {
    case .refused(let verdict): (headers, judgement) = ([:], .verdict(verdict))
    case .taken(let upload):
      var place = place(of: upload)
      if created { place[.location] = "\(publicURL)/uploads/\(id)" }
      guard upload.isComplete, !request.headers.prefers("respond-async") || upload.state.verdict != nil else {
        if upload.isComplete { Task { await judge.judgement(of: upload) } }
        return Response(status: created ? .created : .noContent, headers: place)
      }
      (headers, judgement) = (place, await judge.judgement(of: upload))
    }
    switch judgement {
    case .verdict(let verdict) where verdict.problem == nil:
      if request.headers.prefers("return=representation") {
        return .judgement(judgement, headers: headers.merging([.preferenceApplied: "return=representation"]))
      }
      return Response(
        status: created ? .created : .noContent, headers: headers.merging(Response.headers(of: verdict)))
    case .verdict(let verdict):
      // Not a 410, at which a tus client would begin the upload again.
      return .json(
        .unprocessableContent, UploadKeys(verdict), problem: verdict.problem,
        headers: headers.merging(Response.headers(of: verdict)))
    case .postponed, .unwritten: return .judgement(judgement, headers: headers)
    }
  }

  private func place(of upload: Upload) -> HTTPFields {
    [
      .uploadOffset: "\(upload.offset)",
      .uploadExpires: upload.expires(after: store.lifetime).httpText,
    ]
  }
}
