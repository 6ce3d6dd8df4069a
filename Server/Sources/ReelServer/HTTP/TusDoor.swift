import FoundationEssentials
import HTTPTypes
import Hummingbird
import Reel

/// Uploads by tus 1.0.0, which may be interrupted at any time.
struct TusDoor: Sendable {
  let receiver: Receiver
  /// Before the path of an upload's address: empty, or scheme and host.
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

  /// `POST`. By an address for one upload it leads to that one, however often it is asked.
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
      // It is there, and its sender learns where: HEAD tells how far it came.
      guard error.status != HTTPResponse.Status.checksumMismatch.code else { throw error }
      return .taken(try await store.find(terms.id))
    }
  }

  /// `HEAD`. At the end of an upload clients take it for what became of it, so it waits for that, as `PATCH` does.
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

  /// `PATCH`.
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

  /// `DELETE`, as the draft has it, too.
  func remove(_ id: UploadID, _ request: Request) async throws(Problem) -> Response {
    if !Draft.isSpoken(in: request.headers) { try Tus.checkVersion(request.headers) }
    try await judge.concludeUnwritten(id)
    try await store.takingOver(id) { _ throws(Problem) in
      let upload = try await store.find(id)
      // One that came whole may be a post, of which somebody has to be told; begun anew, its address would make another.
      if upload.isComplete, upload.state.verdict == nil { throw .busy }
      // What became of an address for one upload is remembered.
      if upload.state.rememberedUntil != nil, upload.state.verdict != nil { return }
      try await store.remove(id)
    }
    return Response(status: .noContent)
  }

  /// `GET`, which tus leaves to us: what became of it.
  func look(_ id: UploadID) async throws(Problem) -> Response {
    let upload = try await store.find(id)
    return .json(
      .ok, UploadKeys(upload, expires: upload.expires(after: store.lifetime)),
      problem: upload.state.verdict?.problem, headers: Response.headers(of: upload.state.verdict))
  }

  /// What is said to who has sent bytes: after the last of them what became of the video.
  ///
  /// As tus has it, that is a 204, and the verdict is in its headers; who prefers it (`return=representation`) gets the
  /// verdict as JSON. A refusal is no success, and has a body in any case.
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
      // Not a 410: to a client of tus that is an upload to begin anew.
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
