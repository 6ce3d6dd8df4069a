import ReelCore

extension CatalogError {
  /// Translates `error`, thrown while working with the catalog on `server`, into one that people understand.
  static func from(_ error: any Error, at server: String) -> CatalogError {
    switch error {
    case let known as CatalogError: known
    case let failure as PostgresError: from(failure, at: server)
    default:
      CatalogError(
        .unusable, "the catalog \(server) failed with an error that Reel does not recognize: \(error)")
    }
  }

  /// Runs `body`, and rethrows its errors as ``from(_:at:)`` translates them.
  static func mapping<Value>(at server: String, _ body: () throws -> Value) throws(CatalogError) -> Value {
    do { return try body() } catch { throw from(error, at: server) }
  }

  private static func from(_ error: PostgresError, at server: String) -> CatalogError {
    switch error.kind {
    case .noLibrary, .badAddress: return CatalogError(.unusable, error.message)
    case .unexpected where error.message == PostgresPool.closed: return closed(at: server)
    case .unexpected:
      return CatalogError(
        .corrupt, "the catalog \(server) contains data that Reel does not understand (\(error.message))")
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
    case PostgresError.takesNoWrites:
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) does not accept writes (\(error.message)): name the primary server, or several "
          + "servers, of which Reel uses the one that accepts writes")
    case "53300":
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) has no connection left (\(error.message)): allow it more (max_connections), "
          + "run fewer processes, or put PgBouncer in front of it")
    case "42501":
      return CatalogError(
        .notOurs,
        "the catalog \(server) does not allow that (\(error.message)): docs/fleet.md lists what to grant for reading and for "
          + "publishing"
      )
    case "XX001", "XX002":
      return CatalogError(
        .corrupt, "the catalog \(server) is damaged (\(error.message)): restore a backup")
    default: break
    }
    if error.kind == .disconnected, let refusal = refusal(error, at: server) { return refusal }
    if error.isOutage {
      return CatalogError(
        .unusable,
        "the catalog \(server) can't be reached (\(error.message)): check the server and the network, then "
          + "try again")
    }
    return CatalogError(.unusable, "the catalog \(server) can't be used (\(error.description))")
  }

  /// The reason why an existing server refused a connection, from libpq's message; nil if that says something else.
  private static func refusal(_ error: PostgresError, at server: String) -> CatalogError? {
    let said = error.message
    if said.contains("does not support SSL") {
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) does not support TLS, which Reel requires for any other machine: enable it on the "
          + "server or, on a network that you trust, add sslmode=disable to the address (\(said))")
    }
    let wasCut = said.contains("SSL SYSCALL") || said.contains("closed unexpectedly")
    if error.state == nil, !wasCut, said.contains("certificate") || said.contains("SSL") {
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) could not be authenticated (\(said)): use the host name in its certificate, "
          + "and give the trusted certificates by sslrootcert=FILE in the address, PGSSLROOTCERT or "
          + "~/.postgresql/root.crt; or, on a network that you trust, add sslmode=disable to the address")
    }
    if said.contains("no password supplied") {
      return CatalogError(
        .unusable,
        "the server of the catalog \(server) requires a password: set PGPASSWORD, or add it to ~/.pgpass (a line "
          + "HOST:PORT:DATABASE:USER:PASSWORD, mode 600)")
    }
    guard let state = error.state, state.hasPrefix("28") || state == "3D000" else { return nil }
    return CatalogError(
      .unusable,
      "the server of the catalog \(server) refused the login (\(said)): check the user, the password and the "
        + "database, then try again")
  }

  static func newerSchema(_ found: Int, at server: String) -> CatalogError {
    CatalogError(
      .newerSchema,
      "the catalog \(server) was made by a newer Reel (schema \(found), this one knows schema "
        + "\(PostgresSchema.version)): update Reel, or name another catalog")
  }

  static func missing(at server: String, _ said: String) -> CatalogError {
    CatalogError(
      .notOurs,
      "there is no catalog in \(server) yet, and this user may not make one (\(said)): name another, or publish once as "
        + "the role that is to own its tables")
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
