package dev.berth.dialect.mcp;

/**
 * A JSON-RPC message of a client, as far as Berth reads it.
 *
 * @param id as JSON; {@code null} for a notification
 * @param method empty for a response
 * @param name of {@code params}, such as a tool; empty for none
 * @param uri of {@code params}; empty for none
 * @param version protocol version in {@code params._meta}; empty for none
 */
public record McpMessage(
    MessageKind kind, String id, String method, String name, String uri, String version) {
  /** The id of an error that answers no request. */
  public static final String NO_ID = "null";

  /** The kinds of JSON-RPC messages. */
  public enum MessageKind {
    REQUEST,
    NOTIFICATION,
    /** The response to a request of the server, such as an elicitation. */
    RESPONSE
  }

  /** Returns the part of {@code params} that {@code Mcp-Name} repeats. */
  String mirroredName() {
    return method.equals("resources/read") ? uri : name;
  }

  /** Returns whether {@code Mcp-Name} is required. */
  boolean isNamed() {
    return switch (method) {
      case "tools/call", "prompts/get", "resources/read" -> true;
      default -> false;
    };
  }

  /** Returns the tool that the message calls; empty for none. */
  String tool() {
    return method.equals("tools/call") ? name : "";
  }
}
