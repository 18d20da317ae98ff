package dev.berth.view;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Failure of a command. The command changed nothing, unless the message reports an unknown outcome.
 * Expected, and so without a stack trace.
 */
public final class CommandRejectedException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Reason of the failure. Each has one HTTP status and one code for programs. */
  public enum CommandRejectionReason {
    /** The command itself is invalid. */
    INVALID(400, "invalid"),
    /** The application or deployment does not exist. */
    NOT_FOUND(404, "not_found"),
    /** The target exists, but its state or configuration forbids the command. */
    PRECONDITION(412, "precondition_failed"),
    /** The command could not be made durable, not in time, or the controller is unreachable. */
    UNAVAILABLE(503, "unavailable");

    public final int status;
    public final String code;

    CommandRejectionReason(int status, String code) {
      this.status = status;
      this.code = code;
    }
  }

  private final CommandRejectionReason kind;
  private final transient List<String> problems;

  /** Creates a failure with one problem. */
  public CommandRejectedException(CommandRejectionReason kind, String problem) {
    this(kind, List.of(problem));
  }

  /**
   * @param problems all problems, one line each
   */
  public CommandRejectedException(CommandRejectionReason kind, List<String> problems) {
    super(String.join("\n", problems), null, false, false);
    this.kind = kind;
    this.problems = List.copyOf(problems);
  }

  /** Returns the failure of an invalid command, with a message in the form of {@code formatted}. */
  public static CommandRejectedException invalid(String text, @Nullable Object... values) {
    return new CommandRejectedException(CommandRejectionReason.INVALID, text.formatted(values));
  }

  /** Returns the failure for a target that does not exist. */
  public static CommandRejectedException notFound(String text, @Nullable Object... values) {
    return new CommandRejectedException(CommandRejectionReason.NOT_FOUND, text.formatted(values));
  }

  /** Returns the failure for a target whose state or configuration forbids the command. */
  public static CommandRejectedException precondition(String text, @Nullable Object... values) {
    return new CommandRejectedException(
        CommandRejectionReason.PRECONDITION, text.formatted(values));
  }

  /** Returns the failure of a command that was not made durable, or found no controller. */
  public static CommandRejectedException unavailable(String text, @Nullable Object... values) {
    return new CommandRejectedException(CommandRejectionReason.UNAVAILABLE, text.formatted(values));
  }

  public CommandRejectionReason kind() {
    return kind;
  }

  /** Returns the problems, one line each. */
  public List<String> problems() {
    return problems;
  }
}
