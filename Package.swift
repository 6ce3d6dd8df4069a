// swift-tools-version: 6.2
import PackageDescription

// Each module has one job, and dependencies between them go one way (docs/architecture.md). `scripts/test` builds with
// `--explicit-target-dependency-import-check error`, so an import that is not declared here is a build error.

/// A module: `Sources/NAME`.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies)
}

/// The tests of a module: `Tests/NAME`.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["ReelTestSupport"])
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
  name: "reel",
  products: [
    .executable(name: "reel", targets: ["ReelTool"]),
    .executable(name: "reel-probe-worker", targets: ["reel-probe-worker"]),
    .library(name: "Reel", targets: ["Reel"]),
    .library(name: "ReelTesting", targets: ["ReelTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    // C: system libraries, and code of our own.
    .target(name: "CCommit"),
    .target(name: "CCurl"),
    .target(name: "CExpat", linkerSettings: [.linkedLibrary("expat")]),
    .target(name: "CSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
    .target(
      name: "CFFmpeg",
      linkerSettings: [
        .linkedLibrary("avformat"), .linkedLibrary("avcodec"), .linkedLibrary("avutil"),
        .linkedLibrary("swscale"),
      ]),
    .target(name: "CPostgres"),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .target(name: "CReel", linkerSettings: [.linkedLibrary("seccomp")]),
    .target(name: "CProcess"),
    .target(name: "CXXHash"),

    // The values, the protocols and the system.
    module("ReelCore", ["CCommit", "CReel"]),
    module("ReelCrypto", ["COpenSSL"]),

    // Reading: what comes in, and what it is.
    module("ReelSource", ["CReel", "ReelCore", "ReelCrypto"]),
    module("ReelWire", ["CReel", "ReelCore"]),
    module("ReelProbe", ["CFFmpeg", "ReelCore"]),
    module("ReelPicture", ["CFFmpeg", "ReelCore", "ReelProbe"]),
    module("ReelMend", ["CFFmpeg", "CReel", "CXXHash", "ReelCore", "ReelProbe"]),
    .executableTarget(
      name: "reel-probe-worker",
      dependencies: ["ReelCore", "ReelWire", "ReelProbe", "ReelPicture", "ReelMend"]),
    module("ReelSandbox", ["CReel", "ReelCore", "ReelWire"]),

    // Storing, and remembering what was stored.
    module("ReelStorage", ["CReel", "ReelCore", "ReelCrypto"]),
    module("ReelRemoteStorage", ["CCurl", "CExpat", "ReelCore", "ReelCrypto", "ReelStorage", httpTypes]),
    module("ReelStorageTesting", ["ReelCore", "ReelCrypto"]),
    module("ReelCatalogCopy", ["ReelCore", "ReelCrypto"]),
    module("ReelLibrary", ["CSQLite", "CReel", "ReelCore", "ReelCatalogCopy"]),
    module("ReelPostgres", ["CPostgres", "ReelCore", "ReelCatalogCopy"]),

    // Judging.
    module("ReelValidation", ["CYAML", "ReelCore"]),

    // A run, and how it is shown.
    module("ReelIngest", ["ReelCore", "ReelSource"]),
    module(
      "ReelTerminal",
      ["ReelCore", "ReelCatalogCopy", "ReelLibrary", "ReelPostgres", "ReelValidation", "ReelIngest"]),

    // What a browser shows.
    .target(
      name: "ReelPage",
      dependencies: [
        "CReel", "ReelCore", "ReelCrypto", "ReelSource", "ReelValidation", "ReelIngest", "ReelTerminal",
      ],
      resources: [.embedInCode("Assets")]),

    // All that an app imports.
    module(
      "Reel",
      [
        "ReelCore", "ReelSource", "ReelSandbox", "ReelStorage", "ReelRemoteStorage", "ReelLibrary",
        "ReelIngest", httpTypes,
      ]),

    // What a test of such an app imports.
    module("ReelTesting", ["ReelCore", "ReelStorageTesting"]),

    // The command. Its product is `reel`; a module of that name would differ from `Reel` by its case only.
    .executableTarget(
      name: "ReelTool",
      dependencies: [
        "CProcess", "CReel", "ReelCore", "ReelSource", "ReelSandbox", "ReelStorage", "ReelRemoteStorage",
        "ReelStorageTesting", "ReelCatalogCopy", "ReelLibrary", "ReelPostgres", "ReelValidation",
        "ReelIngest", "ReelTerminal", "ReelPage", argumentParser,
      ]),

    // Support for tests.
    .target(
      name: "ReelTestSupport", dependencies: ["ReelCore", "ReelCrypto"], path: "Tests/Support"),
    .target(name: "CEscapes", path: "Tests/CEscapes"),
    .executableTarget(
      name: "reel-sabotaged-worker",
      dependencies: ["CReel", "ReelCore", "ReelWire", "CEscapes"],
      path: "Tests/SabotagedWorker"),
    .target(name: "ReelHostileFiles", path: "Tests/HostileFiles"),
    .target(name: "CPausingVFS", path: "Tests/PausingVFS", linkerSettings: [.linkedLibrary("sqlite3")]),
    .executableTarget(
      name: "reel-catalog-writer",
      dependencies: ["CPausingVFS", "ReelCore", "ReelLibrary", "ReelTestSupport"],
      path: "Tests/CatalogWriters"),
    .executableTarget(
      name: "reel-make-hostile", dependencies: ["ReelHostileFiles"], path: "Tests/MakeHostile"),
    .target(
      name: "CWire", path: "Tests/CWire", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(
      name: "ReelHTTPFakes",
      dependencies: [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelTestSupport", "CWire", httpTypes,
      ],
      path: "Tests/HTTPFakes"),
    .target(
      name: "ReelFakeGoogle",
      dependencies: ["COpenSSL", "ReelCore", "ReelCrypto", "ReelRemoteStorage", "ReelHTTPFakes"],
      path: "Tests/FakeGoogle"),
    .target(
      name: "ReelTestServers", dependencies: ["ReelPostgres", "ReelTestSupport"], path: "Tests/Servers"),
    .target(
      name: "ReelFaultCampaign",
      dependencies: [
        "ReelCore", "ReelCrypto", "ReelSource", "ReelStorage", "ReelRemoteStorage", "ReelLibrary",
        "ReelIngest", "ReelTestSupport", "ReelHTTPFakes",
      ],
      path: "Tests/FaultCampaign"),

    // Tests.
    tests("ReelCoreTests", ["ReelCore"]),
    tests("ReelCryptoTests", ["ReelCrypto"]),
    tests("ReelSourceTests", ["CReel", "ReelCore", "ReelSource"]),
    tests("ReelWireTests", ["ReelCore", "ReelWire"]),
    tests("ReelProbeTests", ["CFFmpeg", "ReelCore", "ReelProbe"]),
    tests("ReelMendTests", ["ReelCore", "ReelProbe", "ReelMend"]),
    tests("ReelPictureTests", ["CFFmpeg", "ReelCore", "ReelProbe", "ReelPicture"]),
    tests(
      "ReelSandboxTests",
      [
        "CReel", "ReelCore", "ReelWire", "reel-probe-worker", "ReelSandbox", "CEscapes",
        "reel-sabotaged-worker",
      ]),
    tests(
      "ReelStorageTests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelStorageTesting", "ReelTesting", "ReelLibrary",
        "ReelIngest", "Reel", "ReelFaultCampaign",
      ]),
    tests(
      "ReelHTTPTests",
      ["CCurl", "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelHTTPFakes", httpTypes]),
    tests(
      "ReelS3Tests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting", "ReelLibrary",
        "ReelHTTPFakes", "ReelTestServers", "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelTusTests",
      [
        "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting", "ReelLibrary",
        "ReelHTTPFakes", "ReelTestServers", "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelFirebaseTests",
      [
        "COpenSSL", "ReelCore", "ReelCrypto", "ReelStorage", "ReelRemoteStorage", "ReelStorageTesting",
        "ReelLibrary", "ReelHTTPFakes", "ReelFakeGoogle", "ReelTestServers",
        "ReelFaultCampaign", httpTypes,
      ]),
    tests(
      "ReelLibraryTests",
      [
        "CSQLite", "ReelCore", "ReelCrypto", "ReelStorage", "ReelCatalogCopy", "ReelLibrary",
        "ReelPostgres", "ReelTestServers", "CPausingVFS", "reel-catalog-writer",
      ]),
    tests(
      "ReelPostgresTests", ["CPostgres", "ReelCore", "ReelPostgres", "ReelTestServers"]),
    tests("ReelValidationTests", ["ReelCore", "ReelValidation", "ReelTerminal"]),
    tests(
      "ReelIngestTests",
      [
        "ReelCore", "ReelCrypto", "ReelSource", "ReelSandbox", "ReelStorage", "ReelLibrary", "ReelIngest",
        "Reel", "ReelTesting",
      ]),
    tests("ReelTerminalTests", ["ReelCore", "ReelLibrary", "ReelPostgres", "ReelIngest", "ReelTerminal"]),
    tests(
      "ReelPageTests",
      [
        "ReelCore", "ReelCrypto", "ReelLibrary", "ReelValidation", "ReelIngest", "ReelTerminal", "ReelPage",
      ]),
    tests(
      "ReelHostileTests", ["reel-probe-worker", "ReelTool", "reel-sabotaged-worker", "ReelHostileFiles"]),
    tests(
      "ReelEndToEndTests",
      [
        "ReelCore", "ReelCrypto", "reel-probe-worker", "ReelRemoteStorage", "ReelLibrary", "ReelPostgres",
        "ReelValidation", "ReelIngest", "ReelTool", "reel-sabotaged-worker", "ReelHTTPFakes",
        "ReelFakeGoogle", "ReelTestServers", httpTypes,
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// `REEL_TESTS=ReelCoreTests,ReelWireTests`: a build for only these tests compiles nothing else (scripts/test --only).
if let names = Context.environment["REEL_TESTS"] {
  let wanted = Set(names.split(separator: ",").map(String.init))
  package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}

// For those who work on Reel (scripts/test and CI set it), warnings are errors. For nobody else: a system's headers that
// are newer than Reel may deprecate what it calls, and that must not end a build.
if Context.environment["REEL_STRICT"] == "1" {
  for target in package.targets where target.type != .system {
    target.swiftSettings = [.treatAllWarnings(as: .error)]
    target.cSettings = [.treatAllWarnings(as: .error)]
    target.cxxSettings = [.treatAllWarnings(as: .error)]
  }
}
