import ReelCore

extension CatalogError {
  /// What `error`, thrown while working with the catalog on `server`, means for people.
  static func from(_ error: any Error, at server: String) -> CatalogError {
    switch error {
    case let known as CatalogError: known
    case let failure as PostgresError: from(failure, at: server)
    default: CatalogError(.unusable, "the catalog \(server) gave an error that Reel does not know: \(error)")
    }
  }

  private static func from(_ error: PostgresError, at server: String) -> CatalogError {
    switch error.kind {
    case .noLibrary, .badAddress: return CatalogError(.unusable, error.message)
    case .unexpected where error.message == PostgresPool.closed: return closed(at: server)
    case .unexpected:
      return CatalogError(
        .corrupt, "the catalog \(server) holds what Reel does not understand (\(error.message))")
    case .disconnected, .refused: break
    }
    switch error.state {
    case "53100":
      return CatalogError(
        .diskFull,
        "no space left on the disk of the server of the catalog \(server): free some, then try again")
    case "55P03":
      return CatalogError(
        .locked,
        "somebody else keeps rows of the catalog \(server) locked (\(error.message)): wait until they are done, or end "
          + "their session, and try again")
    case "25006":
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) takes no writes: name the one that does, or several with "
          + "target_session_attrs=read-write")
    case "42501":
      return CatalogError(
        .notOurs,
        "the catalog \(server) does not allow that (\(error.message)): docs/fleet.md lists what to grant for reading and for "
          + "publishing"
      )
    case "XX001", "XX002":
      return CatalogError(
        .corrupt, "the catalog \(server) is damaged (\(error.message)): put a backup in its place")
    default: break
    }
    if error.state == nil, error.message.contains("no password supplied") {
      return CatalogError(
        .unusable,
        "the catalog \(server) asks for a password, and none was found (\(error.message)): set PGPASSWORD, or write it into "
          + "~/.pgpass (a line HOST:PORT:DATABASE:USER:PASSWORD, mode 600)")
    }
    let ofTLS = ["SSL", "certificate"]
    if error.state == nil, ofTLS.contains(where: error.message.contains), !error.message.contains("FATAL:") {
      return CatalogError(
        .unusable,
        "the catalog \(server) can't be trusted (\(error.message)): on another machine Reel wants a server with TLS and a "
          + "certificate that can be checked; name its authority with ?sslrootcert=FILE, or, in a network that you "
          + "trust, say ?sslmode=disable")
    }
    if error.state == nil, error.message.contains("FATAL:") {
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) does not let Reel in (\(error.message)): check the user, the password and the "
          + "database, then try again")
    }
    if error.isOutage {
      return CatalogError(
        .unusable,
        "the catalog \(server) can't be reached (\(error.message)): check the server and the network, then "
          + "try again")
    }
    return CatalogError(.unusable, "the catalog \(server) can't be used (\(error.description))")
  }

  static func newerSchema(_ found: Int, at server: String) -> CatalogError {
    CatalogError(
      .newerSchema,
      "the catalog \(server) was made by a newer Reel (schema \(found), this one knows schema "
        + "\(PostgresSchema.version)): update Reel, or name another catalog")
  }

  static func needsWriter(at server: String) -> CatalogError {
    CatalogError(
      .unusable,
      "the catalog \(server) was made by an older Reel: publish once as the role that owns its tables"
        + ", which brings them up to date")
  }

  static func authorTooLong(at server: String) -> CatalogError {
    CatalogError(
      .unusable, "the author's id is longer than the 2000 bytes that the catalog \(server) can look up")
  }
}
