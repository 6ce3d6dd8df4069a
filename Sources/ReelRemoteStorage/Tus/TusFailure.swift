import FoundationEssentials
import HTTPTypes
import ReelCore

/// What a tus server's refusals mean, and how they are told. No sentence names an upload's address.
struct TusFailure: Sendable {
  let store: Destination
  let now: @Sendable () -> Date

  /// - Parameter task: what was asked for, such as "store abc.mp4".
  func callAsFunction(_ reply: HTTPReply, _ task: String) -> UploadError {
    switch reply.status.code {
    case 409: interrupted("\(task) stood somewhere else than was thought")
    case 404, 410: interrupted("it does not know the upload any more (it may have expired)")
    case 423:
      UploadError(.unavailable, "the store \(store) is still at work on that upload: it is tried again")
    case 460: interrupted("a part arrived damaged (its checksum differs)")
    default: reply.failure(store: store, task: task, now: now())
    }
  }

  func interrupted(_ what: String) -> UploadError {
    UploadError(
      .interrupted, "the upload to the store \(store) broke: \(what); run the same command again to go on")
  }

  func transport(_ failure: HTTPFailure) -> UploadError { UploadError(failure, store: store) }

  func noTus(_ reply: HTTPReply) -> UploadError {
    if [401, 403, 407].contains(reply.status.code) {
      return reply.failure(store: store, task: "say what it can do", now: now())
    }
    if reply.status.code == 429 || reply.status.code >= 500 {
      return reply.failure(store: store, task: "say what it can do", now: now())
    }
    return UploadError(
      .storeUnusable,
      "what answers at \(store) speaks no tus 1.0 (\(reply.status.code), and no Tus-Version): name the address "
        + "where uploads are created, such as tus+https://host/files/")
  }

  var noCreation: UploadError {
    UploadError(.storeUnusable, "the tus server \(store) creates no uploads (it has no creation extension)")
  }

  func badLocation() -> UploadError {
    UploadError(
      .storeUnusable,
      "the tus server \(store) created an upload and gave no address for it that can be used: see its settings "
        + "for the address that it is reached by (behind a proxy it has to know it)")
  }

  func taken(_ key: ObjectKey) -> UploadError {
    UploadError(
      .alreadyExists, "the store \(store) has an object named \(key) already, or somebody stores it now")
  }

  func tooLarge(_ size: Int64, _ largest: Int64) -> UploadError {
    UploadError(.tooLarge, "the store \(store) takes at most \(largest) bytes, and the file has \(size)")
  }
}
