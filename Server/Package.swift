// swift-tools-version: 6.2
import PackageDescription

// The server is a separate package, so that Reel does not depend on SwiftNIO and builds nothing of the server.

let nio = "swift-nio"

let package = Package(
  name: "reel-serve",
  platforms: [.macOS(.v15)],
  products: [.executable(name: "reel-serve", targets: ["reel-serve"])],
  dependencies: [
    .package(name: "reel", path: ".."),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .target(name: "CUploads"),
    .target(
      name: "ReelServer",
      dependencies: [
        "CUploads",
        .product(name: "Reel", package: "reel"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOPosix", package: nio),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      resources: [.embedInCode("Page/page.html")]),
    .executableTarget(
      name: "reel-serve",
      dependencies: [
        "ReelServer",
        // Built beside the program, which looks for it there; it is not linked.
        .product(name: "reel-probe-worker", package: "reel"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "Instrumentation", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    .testTarget(
      name: "ReelServerTests",
      dependencies: [
        "CUploads",
        "ReelServer",
        .product(name: "Reel", package: "reel"),
        .product(name: "ReelTesting", package: "reel"),
        .product(name: "CoreMetrics", package: "swift-metrics"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Tracing", package: "swift-distributed-tracing"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: nio),
        .product(name: "NIOEmbedded", package: nio),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
      ]),
  ]
)
