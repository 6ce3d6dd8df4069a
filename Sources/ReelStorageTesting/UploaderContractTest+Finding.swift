import ReelCore

extension UploaderContractTest {
  /// What is there is found, what is not is not, and only what is named is removed.
  static let finding: [UploaderContractTest] = [
    UploaderContractTest("destination.settled", "two uploaders of one store give it the same name") {
      context in
      let other = try await context.store.makeUploader()
      try context.expect(!context.uploader.destination.name.isEmpty, "its destination has no name")
      try context.expect(
        other.destination == context.uploader.destination,
        "one says \(context.uploader.destination), another one \(other.destination)")
      try await other.prepare()
      try context.expect(
        other.destination == context.uploader.destination, "preparing turns it into \(other.destination)")
    },
    UploaderContractTest("find.nothing", "what was never stored is nil to find and readBack, and no error") {
      context in
      try await context.expectNothing(under: try context.newKey(), after: "nothing")
    },
    UploaderContractTest("find.others", "what one uploader stored another one of the same store finds") {
      context in
      let key = try context.newKey()
      let content = try context.small()
      try await context.upload(content, to: key)
      let other = try await context.anotherUploader()
      try context.expect(try await other.find(key)?.size == content.size, "another one does not find it")
      try context.expect(try await other.readBack(key) == content.digest, "another one reads other bytes")
    },
    UploaderContractTest("remove.nothing", "removing what is not there is not an error") { context in
      try await context.uploader.remove(try context.newKey())
    },
    UploaderContractTest("remove.gone", "what was removed is gone, and its name is free") { context in
      let key = try context.newKey()
      try await context.upload(try context.small(seed: 1), to: key)
      try await context.uploader.remove(key)
      try await context.expectNothing(under: key, after: "removing it")
      let second = try context.small(seed: 2)
      try await context.upload(second, to: key)
      try await context.expectWhole(second, under: key)
    },
    UploaderContractTest("remove.onlyThat", "removing one object leaves all others alone") { context in
      let key = try context.newKey()
      let neighbours = try [
        context.newKey { _ in key.rawValue + "x" }, context.newKey { _ in "x" + key.rawValue },
      ]
      let content = try context.small()
      for each in [key] + neighbours { try await context.upload(content, to: each) }
      try await context.uploader.remove(key)
      for neighbour in neighbours { try await context.expectWhole(content, under: neighbour) }
    },
  ]
}
