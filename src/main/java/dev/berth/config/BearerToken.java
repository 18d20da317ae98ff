package dev.berth.config;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A client that shows its name by a secret, in {@code Authorization: Bearer <secret>}.
 *
 * @param name of the client, for bounds that are counted per caller
 * @param secret at least 16 characters; nothing prints it
 */
public record BearerToken(String name, String secret) {
  private static final int MIN_CHARS = 16;
  private static final String EXPECTED =
      "at least " + MIN_CHARS + " printable ASCII characters without a space";

  static final Key<String> NAME =
      Key.required("name", Types.text(), "Name of the client, unique. Bounds are counted for it.");
  static final Key<String> TOKEN =
      Key.optional(
          "token",
          Types.secret(),
          "The secret, at least 16 characters. It is never printed. Better in a file of its own.");
  static final Key<Path> TOKEN_FILE =
      Key.optional(
          "token_file",
          Types.file(),
          "File that holds the secret and nothing else; in place of token. Read at start.");

  static final Section SECTION = Section.of(NAME, TOKEN, TOKEN_FILE).check(BearerToken::check);

  private static void check(Values values) {
    boolean inline = values.gives(TOKEN);
    boolean file = values.gives(TOKEN_FILE);
    if (inline == file) {
      values.problem(TOKEN, inline ? "beside token_file" : "missing", "token or token_file");
      return;
    }
    String secret = secretOf(values);
    if (secret != null && !isStrong(secret)) {
      if (inline) {
        values.problem(TOKEN, "another; its value is not shown", EXPECTED);
      } else {
        values.problem(TOKEN_FILE, "a file that holds another; it is not shown", EXPECTED);
      }
    }
  }

  private static boolean isStrong(String secret) {
    return secret.length() >= MIN_CHARS && secret.chars().allMatch(c -> c > ' ' && c <= '~');
  }

  /** Null when there is none that can be read, which is told elsewhere. */
  private static @Nullable String secretOf(Values values) {
    Path file = values.find(TOKEN_FILE);
    if (file == null) {
      return values.find(TOKEN);
    }
    try {
      return Files.readString(file).strip();
    } catch (IOException unreadable) {
      return "";
    }
  }

  static BearerToken from(Values values) {
    String secret = secretOf(values);
    return new BearerToken(values.get(NAME), secret == null ? "" : secret);
  }

  @Override
  public String toString() {
    return "BearerToken[" + name + "]";
  }
}
