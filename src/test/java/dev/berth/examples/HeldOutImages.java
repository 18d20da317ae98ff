package dev.berth.examples;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The images that the model was not trained on, as training/train_digits.py wrote them. */
final class HeldOutImages {
  private static final Path DIRECTORY = Path.of("src", "examples", "images");

  private HeldOutImages() {}

  /** All of them, by name. */
  static List<Path> all() throws IOException {
    try (Stream<Path> files = Files.list(DIRECTORY)) {
      return files.sorted().toList();
    }
  }

  static byte[] read(String name) throws IOException {
    return Files.readAllBytes(DIRECTORY.resolve(name));
  }

  /** The digit that an image shows: its name is {@code <label>-<n>.png}. */
  static int label(Path image) {
    String name = image.getFileName().toString();
    if (!name.matches("[0-9]-[0-9]\\.png")) {
      throw new IllegalArgumentException("image: " + name + " (expected: <label>-<n>.png)");
    }
    return name.charAt(0) - '0';
  }
}
