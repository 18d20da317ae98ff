package dev.berth.dialect.mcp;

import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.JsonWalker;
import dev.berth.dialect.mcp.McpMessage.MessageKind;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.Json;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Classifies the JSON-RPC message in a request body, without a tree of the body. A member that
 * decides may occur only once, since parsers differ in their choice between two.
 */
public final class McpScanner extends JsonWalker {
  private static final Set<String> MEMBERS = Set.of("id", "method", "params", "result", "error");
  private static final Set<String> PARAMETERS = Set.of("name", "uri", "_meta");
  private static final int MAX_TEXT_BYTES = 8_192; // of an id, a method or a name
  private static final String VERSION = "io.modelcontextprotocol/protocolVersion";

  private final Set<String> seen = new HashSet<>(); // paths of members that were read
  private String id = "";
  private String method = "";
  private String name = "";
  private String uri = "";
  private String version = "";
  private boolean answers; // has a result or an error

  private McpScanner(Buffer body) {
    super(body, true);
  }

  /**
   * Scans a whole body.
   *
   * @throws DialectProblem with status 400, for a body that is not one message
   */
  public static McpMessage scan(Buffer body) {
    return new McpScanner(body).scanMessage();
  }

  private McpMessage scanMessage() {
    skipSpace();
    if (take('[')) {
      throw problem("body: a batch (expected: one JSON-RPC message)");
    }
    expect('{');
    readMembers(this::readMember);
    requireEnd();
    if (answers == !method.isEmpty() || (answers && id.isEmpty())) {
      throw problem("body: no message (expected: a method, or an id with a result or an error)");
    }
    MessageKind kind =
        answers
            ? MessageKind.RESPONSE
            : id.isEmpty() ? MessageKind.NOTIFICATION : MessageKind.REQUEST;
    return new McpMessage(kind, id.isEmpty() ? McpMessage.NO_ID : id, method, name, uri, version);
  }

  private void readMember(String member) {
    switch (member) {
      case "id" -> {
        require(member);
        id = readId();
      }
      case "method" -> {
        require(member);
        method = readText();
        if (method.isEmpty()) {
          throw problem("method: not a text (expected: the name of a method)");
        }
      }
      case "params" -> {
        require(member);
        readObject(this::readParameter);
      }
      case "result", "error" -> {
        answers = true;
        skipValue();
      }
      default -> skipUnlessVariant(member, MEMBERS);
    }
  }

  /** Skips a value. Some servers take a name in another case for the same. */
  private void skipUnlessVariant(String member, Set<String> known) {
    if (known.contains(member.toLowerCase(Locale.ROOT))) {
      throw problem(member + ": (expected: lower case)");
    }
    skipValue();
  }

  private void readParameter(String member) {
    switch (member) {
      case "name" -> {
        require("params." + member);
        name = readText();
      }
      case "uri" -> {
        require("params." + member);
        uri = readText();
      }
      case "_meta" -> {
        require("params." + member);
        readObject(this::readMeta);
      }
      default -> skipUnlessVariant(member, PARAMETERS);
    }
  }

  private void readMeta(String member) {
    if (member.equals(VERSION)) {
      require("params._meta." + member);
      version = readText();
    } else {
      skipValue();
    }
  }

  private void require(String path) {
    if (!seen.add(path)) {
      throw problem(path + ": present twice (expected: one value)");
    }
  }

  private void readObject(Consumer<String> member) {
    if (take('{')) {
      readMembers(member);
    } else {
      skipValue();
    }
  }

  private String readId() {
    int start = at;
    skipValue();
    Object value = at - start > MAX_TEXT_BYTES ? null : decode(start);
    if (!(value instanceof String || value instanceof Number)) {
      throw problem("id: neither a string nor a number (expected: an id)");
    }
    return isText(start) ? Json.encode(value) : text(start);
  }

  /** Reads a string; the empty string for any other value. */
  private String readText() {
    int start = at;
    skipValue();
    if (!isText(start)) {
      return "";
    }
    if (at - start > MAX_TEXT_BYTES) {
      throw problem("body: a name of " + (at - start) + " bytes (expected: at most 8192)");
    }
    return String.valueOf(decode(start));
  }

  private static DialectProblem problem(String words) {
    return new DialectProblem(400, "invalid_message", words, null);
  }
}
