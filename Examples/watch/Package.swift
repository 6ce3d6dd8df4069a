// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "watch-folder",
  dependencies: [.package(name: "reel", path: "../..")],
  targets: [
    .executableTarget(
      name: "watch-folder",
      dependencies: [
        .product(name: "Reel", package: "reel"),
        // Built beside the program, which looks for it there. It is not linked.
        .product(name: "reel-probe-worker", package: "reel"),
      ])
  ]
)
