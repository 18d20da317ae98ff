package dev.berth.dialect;

import java.nio.charset.StandardCharsets;
import java.util.Random;

/** JSON text in the many spellings of one value: spaces, escapes, depth, and names that repeat. */
final class RandomJson {
  private static final String[] SPACES = {"", "", "", " ", "\n", "\r\n\t"};
  private static final String[] NAMES = {
    "messages",
    "stream",
    "stream_options",
    "include_usage",
    "store",
    "background",
    "conversation",
    "previous_response_id",
    "models",
    "",
    "Model",
    "usage",
    "\u00e4\ud83d\ude00"
  };
  private static final String[] LITERALS = {
    "true", "false", "null", "0", "-1", "3.5e-7", "12345678901234567890"
  };
  private static final String[] CHARACTERS = {
    "a",
    "model",
    "\\\"",
    "\\\\",
    "\\n",
    "\\u0041",
    "\u00e4",
    "\ud83d\ude00",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " "
  };

  private final Random random;

  RandomJson(long seed) {
    random = new Random(seed);
  }

  /** An object that often names one model, and sometimes none, two, or a bad one. */
  String body() {
    StringBuilder text = new StringBuilder(space()).append('{');
    int members = random.nextInt(8);
    int model = random.nextInt(8);
    for (int index = 0; index <= members; index++) {
      boolean named = index == Math.min(model, members) || random.nextInt(20) == 0;
      text.append(index == 0 ? space() : space() + "," + space())
          .append(named ? spelled("model") : spelled(pick(NAMES)))
          .append(space())
          .append(':')
          .append(space())
          .append(named && random.nextInt(10) > 0 ? string() : value(3));
    }
    return text.append(space()).append('}').append(space()).toString();
  }

  String value(int depth) {
    return switch (depth == 0 ? random.nextInt(2) : random.nextInt(5)) {
      case 0 -> pick(LITERALS);
      case 1 -> string();
      case 2 -> "[" + space() + "]";
      case 3 -> "[" + value(depth - 1) + space() + "," + value(depth - 1) + "]";
      default -> "{" + space() + spelled(pick(NAMES)) + ":" + value(depth - 1) + "}";
    };
  }

  String string() {
    StringBuilder text = new StringBuilder("\"");
    for (int left = random.nextInt(5) * random.nextInt(5); left > 0; left--) {
      text.append(pick(CHARACTERS));
    }
    return text.append('"').toString();
  }

  /** Changes, removes or repeats some bytes. */
  byte[] damage(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    for (int left = random.nextInt(4); left > 0 && bytes.length > 0; left--) {
      int at = random.nextInt(bytes.length);
      bytes[at] =
          random.nextBoolean() ? bytes[random.nextInt(bytes.length)] : (byte) random.nextInt();
    }
    return bytes;
  }

  private String spelled(String name) {
    StringBuilder text = new StringBuilder("\"");
    for (char c : name.toCharArray()) {
      text.append(random.nextInt(9) == 0 ? String.format("\\u%04x", (int) c) : String.valueOf(c));
    }
    return text.append('"').toString();
  }

  private String space() {
    return pick(SPACES);
  }

  private String pick(String[] choices) {
    return choices[random.nextInt(choices.length)];
  }
}
