import FoundationEssentials
import ReelCore

/// The catalog that several machines share, in PostgreSQL 13 or newer (docs/fleet.md): what `reel --catalog` names.
public enum SharedCatalog {
  /// Opens the catalog of a database, creating it if there is none. The first call loads libpq.
  ///
  /// - Parameters:
  ///   - address: `postgres://USER@HOST/DATABASE`. What is missing, libpq takes from its variables (`PGHOST`, …), its
  ///     password file and its service file.
  ///   - allowsPassword: whether the address may contain a password; false where others can see it, as in arguments.
  ///   - onWait: called with a sentence when a server that was there has been gone for a second, and is waited for.
  /// - Throws: ``CatalogError``: `unusable` for an invalid address, and for a server that can't be reached.
  public static func open(
    at address: String, allowsPassword: Bool = true, onWait: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws(CatalogError) -> any PostCatalog {
    var settings = PostgresPool.Settings()
    settings.onWait = onWait
    let pool = try rethrowing(
      as: { CatalogError(.unusable, ($0 as? PostgresError)?.message ?? "\($0)") }
    ) {
      let (library, variables) = (try PostgresLibrary(), ProcessInfo.processInfo.environment)
      let address = try PostgresAddress(
        address, passwords: allowsPassword ? .inAddress : .elsewhere, library: library,
        environment: { name in variables[name].flatMap { $0.isEmpty ? nil : $0 } })
      return PostgresPool(address, library: library, settings: settings)
    }
    return try await PostgresCatalog.open(pool)
  }
}
