package dev.berth.dialect.mcp;

import org.jspecify.annotations.Nullable;

/**
 * The treatment of one HTTP request. The ingress passes it to the replica in a header and replaces
 * one of a client. A replica returns the code of a problem in the same header.
 *
 * @param tool called tool, if its name fits in a header; else empty
 */
public record McpCall(CallKind kind, String tool) {
  /** The lower-case name of the header between the ingress and a replica. */
  public static final String HEADER = "x-berth-mcp";

  public static final McpCall CLOSED = new McpCall(CallKind.CLOSED, "");

  private static final String CANCEL = "cancel";

  /** The kinds of requests. Only {@link #REQUEST} takes a slot. */
  public enum CallKind {
    /** A JSON-RPC request. */
    REQUEST,
    /** A stream of a session, opened by GET; one per session. */
    LISTEN,
    /** A stream that resumes another, or that {@code subscriptions/listen} opens. */
    STREAM,
    /** A response, a notification, a {@code ping}, or the end of a session. */
    MESSAGE,
    /** A request to a replica that grants no slot, to learn whether its sessions are lost. */
    CLOSED
  }

  /** Returns whether the response is a stream that may last without an event. */
  public boolean isStream() {
    return kind == CallKind.LISTEN || kind == CallKind.STREAM;
  }

  /** Returns the notification that a call of a client is cancelled, which Berth sends. */
  public static McpCall cancel() {
    return new McpCall(CallKind.MESSAGE, CANCEL);
  }

  /** Returns whether Berth sends the request, to cancel a call. */
  public boolean isCancel() {
    return kind == CallKind.MESSAGE && tool.equals(CANCEL);
  }

  public String header() {
    return tool.isEmpty() ? kind.name() : kind.name() + " " + tool;
  }

  /** Reads a header; null for none, or for one that no ingress made. */
  public static @Nullable McpCall read(@Nullable String header) {
    String[] words = header == null ? new String[0] : header.split(" ", 2);
    for (CallKind kind : words.length == 0 ? new CallKind[0] : CallKind.values()) {
      if (kind.name().equals(words[0])) {
        return new McpCall(kind, words.length == 1 ? "" : words[1]);
      }
    }
    return null;
  }
}
