package dev.berth.view;

import java.util.List;

/**
 * A command that was not carried out, and changed nothing unless it says that it may come true yet.
 * Expected, so without a stack.
 */
public final class CommandRefused extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Why; each is one HTTP status, and one code for programs. */
  public enum Kind {
    /** What was asked for is wrong in itself. */
    INVALID(400, "invalid"),
    /** There is no such application or deployment. */
    NOT_FOUND(404, "not_found"),
    /** It exists, and its state or configuration forbids it. */
    PRECONDITION(412, "precondition_failed"),
    /** It could not be made durable, or not in time, or the controller is not there. */
    UNAVAILABLE(503, "unavailable");

    public final int status;
    public final String code;

    Kind(int status, String code) {
      this.status = status;
      this.code = code;
    }
  }

  private final Kind kind;
  private final transient List<String> problems;

  /** With one problem. */
  public CommandRefused(Kind kind, String problem) {
    this(kind, List.of(problem));
  }

  /**
   * @param problems all of them, one line each
   */
  public CommandRefused(Kind kind, List<String> problems) {
    super(String.join("\n", problems), null, false, false);
    this.kind = kind;
    this.problems = List.copyOf(problems);
  }

  public Kind kind() {
    return kind;
  }

  /** One line each. */
  public List<String> problems() {
    return problems;
  }
}
