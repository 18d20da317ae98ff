package dev.berth.dialect.mcp;

import dev.berth.dialect.DialectProblem;
import dev.berth.dialect.mcp.McpCall.CallKind;
import dev.berth.dialect.mcp.McpMessage.MessageKind;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The rules of requests. Each refusal is a {@link DialectProblem}. */
public final class McpRules {
  /** Tool names that the configuration and a header may contain. */
  private static final Pattern PLAIN_NAME = Pattern.compile("[A-Za-z0-9_./-]{1,128}");

  /** Code of a refusal by the rules of {@code Mcp-Method} and {@code Mcp-Name}. */
  static final String MISMATCH = "header_mismatch";

  private static final String BASE64 = "=?base64?";

  private McpRules() {}

  /**
   * Refuses a request of a web page that the operator has not listed, also one of the same host: a
   * page that rebinds its own name to this server has that host.
   *
   * @param origin value of {@code Origin}; null for a client that is no browser
   */
  public static void checkOrigin(@Nullable String origin, Set<String> permitted) {
    if (origin != null && !permitted.contains(origin)) {
      throw new DialectProblem(
          403, "origin_refused", "Origin: not permitted (expected: one of mcp.origins)", null);
    }
  }

  /** Refuses a path below the endpoint, or a method that the revision does not have. */
  public static void checkTarget(String path, String method, McpRevision revision) {
    if (!path.isEmpty()) { // nor a slash, which servers may redirect around Berth
      throw new DialectProblem(
          404, "unknown_path", "path: below the endpoint (expected: the route prefix)", null);
    }
    boolean known =
        method.equals("POST")
            || revision == McpRevision.SESSIONS
                && (method.equals("GET") || method.equals("DELETE"));
    if (!known) {
      String expected = revision == McpRevision.SESSIONS ? "POST, GET or DELETE" : "POST";
      throw new DialectProblem(
          405, "method_not_allowed", method + ": no method (expected: " + expected + ")", null);
    }
  }

  /** Returns the treatment of a GET or DELETE. */
  public static McpCall ofMethod(String method, boolean resumes) {
    boolean ends = method.equals("DELETE");
    return new McpCall(ends ? CallKind.MESSAGE : resumes ? CallKind.STREAM : CallKind.LISTEN, "");
  }

  /**
   * Returns the treatment of a POST. With the stateless revision, its headers must repeat the
   * message, since others decide by them; with earlier ones nothing is read from these headers.
   *
   * @param headers returns the only value of a header; null for none
   */
  public static McpCall ofMessage(
      McpMessage message, McpRevision revision, UnaryOperator<@Nullable String> headers) {
    boolean request = message.kind() == MessageKind.REQUEST;
    if (revision == McpRevision.STATELESS) {
      checkMirrored(message, headers);
    }
    if (!request || message.method().equals("ping")) {
      return new McpCall(CallKind.MESSAGE, "");
    }
    boolean listens =
        revision == McpRevision.STATELESS && message.method().equals("subscriptions/listen");
    String tool = message.tool();
    return new McpCall(
        listens ? CallKind.STREAM : CallKind.REQUEST,
        PLAIN_NAME.matcher(tool).matches() ? tool : "");
  }

  /** Returns the method of a message for logs; {@code response} for none. */
  public static String plainMethod(McpMessage message) {
    String method = message.method();
    return method.isEmpty() ? "response" : PLAIN_NAME.matcher(method).matches() ? method : "other";
  }

  /** Refuses a reservation of a slot for a request that takes none. */
  public static void checkReservation(McpCall call, boolean hasReservation) {
    if (hasReservation && call.kind() != CallKind.REQUEST) {
      throw new DialectProblem(
          400,
          "reservation_without_slot",
          "X-Berth-Reservation: the message takes no slot (expected: a request that takes one)",
          null);
    }
  }

  private static void checkMirrored(McpMessage message, UnaryOperator<@Nullable String> headers) {
    if (message.kind() == MessageKind.RESPONSE) {
      throw new DialectProblem(
          400, "invalid_message", "body: a response (expected: none in 2026-07-28)", null);
    }
    boolean required = message.kind() == MessageKind.REQUEST;
    match(
        "MCP-Protocol-Version", headers.apply("mcp-protocol-version"), message.version(), required);
    match("Mcp-Method", headers.apply("mcp-method"), message.method(), required);
    String name = headers.apply("mcp-name");
    match(
        "Mcp-Name",
        name == null ? null : decoded(name),
        message.mirroredName(),
        required && message.isNamed());
  }

  private static void match(
      String header, @Nullable String value, String inBody, boolean required) {
    boolean matches = value == null ? !required : value.equals(inBody);
    boolean absent = !required && inBody.isEmpty(); // the revision defines no rule
    if (!matches && !absent) {
      throw new DialectProblem(
          400,
          MISMATCH,
          "Header mismatch: " + header + (value == null ? " is missing" : " is unlike the body"),
          null);
    }
  }

  private static @Nullable String decoded(String name) {
    if (!name.startsWith(BASE64) || !name.endsWith("?=") || name.length() < BASE64.length() + 2) {
      return name;
    }
    try {
      byte[] bytes = Base64.getDecoder().decode(name.substring(BASE64.length(), name.length() - 2));
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (IllegalArgumentException | CharacterCodingException malformed) {
      throw new DialectProblem(400, MISMATCH, "Header mismatch: Mcp-Name is malformed", null);
    }
  }
}
