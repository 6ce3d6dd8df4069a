@testable import ReelPostgres
import Testing

/// Tests of addresses, which libpq parses without a server.
@Suite(.enabled(if: (try? PostgresLibrary()) != nil, "libpq is not installed (Debian: libpq5)"))
struct AddressTests {
  private func address(
    _ text: String, _ environment: [String: String] = [:], passwords: PostgresAddress.Passwords = .elsewhere
  ) throws -> PostgresAddress {
    try PostgresAddress(
      text, passwords: passwords, library: try PostgresLibrary(), environment: { environment[$0] })
  }

  @Test(arguments: [
    ("postgres://reel@db/reel", "postgres://reel@db/reel"),
    ("postgresql://reel@db:6432/reel?connect_timeout=3", "postgres://reel@db:6432/reel"),
    ("postgres:///reel?host=/run/postgresql", "postgres:///run/postgresql/reel"),
    ("postgres://u@a:1,b:2/d", "postgres://u@a,b/d"),
    ("postgres://?service=media", "postgres://?service=media"),
  ]) func isNamedInMessages(_ text: String, _ name: String) throws {
    #expect(try address(text).name == name)
  }

  @Test(
    arguments: [
      ("postgres://db/reel", [:], "verify-full"), ("postgres://db/reel?sslmode=require", [:], "require"),
      ("postgres://db/reel", ["PGSSLMODE": "disable"], nil), ("postgres:///reel", [:], nil),
      ("postgres:///reel", ["PGHOST": "db"], "verify-full"), ("postgres://localhost/reel", [:], nil),
      ("postgres://127.0.0.1/reel", [:], nil), ("postgres://[::1]/reel", [:], nil),
      ("postgres://localhost,db/reel", [:], "verify-full"),
      ("postgres:///reel?host=/run/postgresql", [:], nil),
      ("postgres://?service=media", [:], "verify-full"),
      ("postgres://localhost/reel?hostaddr=192.0.2.1", [:], "verify-full"),
      ("postgres://127.0.0.1.example.com/reel", [:], "verify-full"),
    ] as [(String, [String: String], String?)])
  func anotherMachineHasToProveWhoItIs(_ text: String, _ environment: [String: String], _ mode: String?)
    throws
  {
    #expect(try address(text, environment).parameters["sslmode"] == mode)
  }

  @Test(arguments: [
    "postgres://reel:hunter2@db/reel", "postgres://db/reel?password=hunter2",
    "postgres://db/reel?sslpassword=hunter2", "postgres://reel:hunter2%ZZ@db/reel",
    "postgres://:hunter2@db:x y/",
    "mysql://reel:hunter2@db/reel",
  ])
  func aPasswordIsRefusedAndNotRepeated(_ text: String) {
    let error = #expect(throws: PostgresError.self) { try address(text) }
    #expect(error?.kind == .badAddress && error?.message.contains("hunter2") == false)
  }

  /// libpq would take a part of the password for the host.
  @Test(arguments: [
    "postgres://reel:hun@ter2@db/reel", "postgres://reel:hun/ter2@db/reel",
    "postgres://reel:hunter2/@db/reel",
  ])
  func aPasswordThatIsNotEncodedIsRefusedAndNotRepeated(_ text: String) {
    let error = #expect(throws: PostgresError.self) { try address(text, passwords: .inAddress) }
    #expect(error?.kind == .badAddress && error?.message.contains("percent-encoded") == true)
    #expect(error?.message.contains("ter2") == false)
  }

  @Test func aPasswordInTheEnvironmentIsNeverInTheName() throws {
    let address = try address("postgres://reel:hunter2@db/reel", passwords: .inAddress)
    #expect(address.name == "postgres://reel@db/reel" && address.parameters["password"] == "hunter2")
  }

  @Test func ofSeveralServersTheOneThatTakesWritesIsUsed() throws {
    #expect(try address("postgres://a,b/reel").parameters["target_session_attrs"] == "read-write")
    #expect(try address("postgres://a/reel").parameters["target_session_attrs"] == nil)
    #expect(
      try address("postgres://a,b/reel?target_session_attrs=any").parameters["target_session_attrs"] == "any")
  }
}
