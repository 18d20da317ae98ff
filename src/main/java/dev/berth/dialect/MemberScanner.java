package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * Finds one top-level member of a JSON body, with the bounds of {@link ModelScanner}. The member
 * may occur only once, since parsers differ in their choice between two.
 */
public final class MemberScanner extends JsonWalker {
  private static final int MAX_LENGTH = 64; // bytes of a value that is returned as it is

  private final String wanted;
  private @Nullable String found;

  MemberScanner(Buffer body, String wanted) {
    super(body, true);
    this.wanted = wanted;
  }

  /**
   * Returns the bytes of a member's value as text, or their number for a long value; null without
   * the member, and for a {@code null}.
   *
   * @throws DialectProblem with status 400, for a body that is no JSON object, or has the member
   *     twice
   */
  public static @Nullable String scan(Buffer body, String member) {
    return new MemberScanner(body, member).scan();
  }

  @Nullable String scan() {
    skipSpace();
    expect('{');
    readMembers(this::readMember);
    requireEnd();
    return "null".equals(found) ? null : found;
  }

  private void readMember(String name) {
    int start = at;
    skipValue();
    if (name.equalsIgnoreCase(wanted)) { // the same for some servers
      if (found != null || !name.equals(wanted)) {
        String text = name + ": present twice, or not as " + wanted + " (expected: one value)";
        throw new DialectProblem(400, "duplicate_parameter", text, wanted);
      }
      found = at - start > MAX_LENGTH ? "a value of " + (at - start) + " bytes" : text(start);
    }
  }
}
