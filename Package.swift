// swift-tools-version: 6.2
import PackageDescription

// Each module has one job, and dependencies between them go one way (docs/architecture.md). `scripts/test` builds with
// `--explicit-target-dependency-import-check error`, so an import that is not declared here is a build error.

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error)]

/// A module: `Sources/NAME`.
func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The tests of a module: `Tests/NAME`.
func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies + ["ReelTestForm"], swiftSettings: strict)
}

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")

let package = Package(
  name: "reel",
  products: [
    .executable(name: "reel", targets: ["ReelTool"]),
    .executable(name: "reel-probe-worker", targets: ["reel-probe-worker"]),
    .library(name: "Reel", targets: ["Reel"]),
    .library(name: "ReelStorageTesting", targets: ["ReelStorageTesting"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
  ],
  targets: [
    // C, the system, the values.
    .target(
      name: "CFFmpeg",
      linkerSettings: [
        .linkedLibrary("avformat"), .linkedLibrary("avcodec"), .linkedLibrary("avutil"),
      ]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "CExpat", linkerSettings: [.linkedLibrary("expat")]),
    .target(name: "CCurl"),
    .target(name: "CReel", linkerSettings: [.linkedLibrary("seccomp")]),
    .target(name: "CProcess"),
    module("ReelCore", ["CReel"]),
    module("ReelCrypto", ["COpenSSL"]),
    module("ReelValidation", ["ReelCore", "CYAML"]),
    module("ReelLibrary", ["ReelCore", "CReel", "CSQLite"]),

    // What comes in, and what it is.
    module("ReelSource", ["ReelCore", "CReel", "ReelCrypto"]),
    module("ReelWire", ["ReelCore", "CReel"]),
    module("ReelProbe", ["CFFmpeg", "ReelCore"]),
    .executableTarget(
      name: "reel-probe-worker", dependencies: ["ReelProbe", "ReelCore", "ReelWire"],
      swiftSettings: strict),
    module("ReelSandbox", ["ReelCore", "ReelWire", "CReel"]),

    // Where it goes, and what remembers it.
    module("ReelStorage", ["ReelCore", "CReel", "ReelCrypto"]),
    module("ReelRemoteStorage", ["ReelCore", "ReelStorage", "CCurl", httpTypes, "CExpat", "ReelCrypto"]),
    module("ReelStorageTesting", ["ReelCore", "ReelCrypto"]),

    // The view models, the views, the command.
    module("ReelIngest", ["ReelCore", "ReelSource"]),
    module("ReelTerminal", ["ReelCore", "ReelIngest", "ReelLibrary", "ReelValidation"]),

    // What an app imports.
    module(
      "Reel",
      [
        "ReelCore", "ReelIngest", "ReelLibrary", "ReelRemoteStorage", "ReelSandbox", "ReelSource",
        "ReelStorage",
      ]),

    // The command. Its product is `reel`; a module of that name would differ from `Reel` by its case only.
    .executableTarget(
      name: "ReelTool",
      dependencies: [
        "ReelCore", "ReelSource", "ReelSandbox", "ReelStorage", "ReelLibrary", "ReelIngest", "ReelTerminal",
        "ReelValidation", "ReelStorageTesting", "CProcess", argumentParser, "ReelRemoteStorage",
      ],
      swiftSettings: strict),

    // Tests.
    .target(name: "ReelTestRandomness", path: "Tests/Randomness", swiftSettings: strict),
    .target(name: "ReelTestForm", path: "Tests/Form", swiftSettings: strict),
    tests("ReelCoreTests", ["ReelCore", "ReelTestRandomness"]),
    tests("ReelCryptoTests", ["ReelCrypto", "ReelTestRandomness"]),
    tests("ReelValidationTests", ["ReelValidation", "ReelTerminal", "ReelCore", "ReelTestRandomness"]),
    tests("ReelLibraryTests", ["ReelLibrary", "ReelCore", "CSQLite", "ReelStorage", "ReelCrypto"]),
    tests("ReelSourceTests", ["ReelSource", "ReelCore", "ReelTestRandomness"]),
    tests("ReelWireTests", ["ReelWire", "ReelCore", "ReelTestRandomness"]),
    tests("ReelProbeTests", ["ReelProbe", "ReelCore", "ReelTestRandomness"]),
    .target(name: "CEscapes", path: "Tests/CEscapes"),
    .executableTarget(
      name: "reel-sabotaged-worker",
      dependencies: ["ReelCore", "ReelWire", "CReel", "CEscapes"],
      path: "Tests/SabotagedWorker", swiftSettings: strict),
    tests(
      "ReelSandboxTests",
      [
        "ReelSandbox", "ReelCore", "ReelWire", "CReel", "CEscapes", "reel-probe-worker",
        "reel-sabotaged-worker",
      ]),
    .target(name: "ReelHostileFiles", path: "Tests/HostileFiles", swiftSettings: strict),
    .executableTarget(
      name: "reel-make-hostile", dependencies: ["ReelHostileFiles"], path: "Tests/MakeHostile",
      swiftSettings: strict),
    tests(
      "ReelHostileTests", ["ReelHostileFiles", "ReelTool", "reel-probe-worker", "reel-sabotaged-worker"]),
    tests(
      "ReelStorageTests",
      [
        "ReelStorage", "ReelStorageTesting", "ReelCore", "ReelCrypto", "ReelFaultCampaign", "ReelLibrary",
        "ReelIngest",
      ]),
    .target(
      name: "CWire", path: "Tests/CWire", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
    .target(
      name: "ReelHTTPDoubles",
      dependencies: [
        "ReelRemoteStorage", "ReelCore", "ReelStorage", "ReelTestRandomness", "CWire", httpTypes,
        "ReelCrypto",
      ],
      path: "Tests/HTTPDoubles", swiftSettings: strict),
    .target(
      name: "ReelGoogleDouble",
      dependencies: ["ReelRemoteStorage", "ReelHTTPDoubles", "ReelCore", "ReelCrypto", "COpenSSL"],
      path: "Tests/GoogleDouble", swiftSettings: strict),
    .target(
      name: "ReelFaultCampaign",
      dependencies: [
        "ReelCore", "ReelSource", "ReelStorage", "ReelLibrary", "ReelIngest", "ReelRemoteStorage",
        "ReelHTTPDoubles", "ReelTestRandomness", "ReelTestForm", "ReelCrypto",
      ],
      path: "Tests/FaultCampaign", swiftSettings: strict),
    .target(name: "ReelTestServers", path: "Tests/Servers", swiftSettings: strict),
    tests(
      "ReelHTTPTests",
      ["ReelRemoteStorage", "CCurl", "ReelHTTPDoubles", "ReelCore", "ReelStorage", httpTypes, "ReelCrypto"]),
    tests(
      "ReelS3Tests",
      [
        "ReelRemoteStorage", "ReelHTTPDoubles", "ReelTestServers", "ReelFaultCampaign", "ReelLibrary",
        "ReelCore", "ReelStorage", "ReelStorageTesting", httpTypes, "ReelCrypto",
      ]),
    tests(
      "ReelTusTests",
      [
        "ReelRemoteStorage", "ReelHTTPDoubles", "ReelFaultCampaign", "ReelLibrary", "ReelStorage",
        "ReelStorageTesting", "ReelCore", "ReelTestServers", "ReelTestRandomness", httpTypes, "ReelCrypto",
      ]),
    tests(
      "ReelFirebaseTests",
      [
        "ReelRemoteStorage", "ReelGoogleDouble", "ReelFaultCampaign", "ReelLibrary", "ReelHTTPDoubles",
        "ReelTestServers", "ReelTestRandomness", "ReelCore", "ReelStorage", "ReelStorageTesting", httpTypes,
        "ReelCrypto", "COpenSSL",
      ]),
    tests(
      "ReelIngestTests",
      [
        "Reel", "ReelIngest", "ReelCore", "ReelSource", "ReelStorage", "ReelLibrary", "ReelSandbox",
        "ReelTestRandomness", "ReelCrypto",
      ]),
    tests(
      "ReelTerminalTests", ["ReelTerminal", "ReelLibrary", "ReelIngest", "ReelCore", "ReelTestRandomness"]),
    tests(
      "ReelEndToEndTests",
      [
        "ReelTool", "reel-probe-worker", "reel-sabotaged-worker", "ReelIngest", "ReelCore", "ReelValidation",
        "ReelTestRandomness", "ReelGoogleDouble", "ReelRemoteStorage", "ReelHTTPDoubles", "ReelTestServers",
        httpTypes, "ReelCrypto", "ReelLibrary",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
