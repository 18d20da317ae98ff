package dev.berth.dialect.mcp;

import dev.berth.dialect.DialectProblem;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The two forms of Streamable HTTP that a client may speak. */
public enum McpRevision {
  /** Revisions with {@code initialize}, sessions, and streams opened by GET. */
  SESSIONS,
  /** Revision 2026-07-28: each request stands alone. */
  STATELESS;

  /** The supported values of {@code MCP-Protocol-Version}, the newest first. */
  static final List<String> VERSIONS =
      List.of("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26");

  /** Code of the refusal of another version. */
  static final String UNSUPPORTED = "unsupported_version";

  /**
   * Returns the form of a version. A request without one is of 2025-03-26, or an {@code initialize}
   * of a later revision; {@link McpScanner} refuses batches of either.
   *
   * @throws DialectProblem with status 400, for an unknown version
   */
  public static McpRevision of(@Nullable String version) {
    int index = version == null ? VERSIONS.size() : VERSIONS.indexOf(version);
    if (index < 0) {
      throw new DialectProblem(
          400,
          UNSUPPORTED,
          "MCP-Protocol-Version: unknown (expected: one of " + String.join(", ", VERSIONS) + ")",
          version);
    }
    return index == 0 ? STATELESS : SESSIONS;
  }
}
