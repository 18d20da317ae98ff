import java.time.LocalTime;
import java.time.format.DateTimeFormatter;

/** Says on standard output what is under way and about how long it will be. */
final class Progress {
  private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss");

  private final long begun = System.nanoTime();
  private final double planned;

  Progress(double plannedSeconds) {
    planned = plannedSeconds;
  }

  void tell(String what) {
    double left = planned - took();
    System.out.printf(
        "%s  %s   (%s left)%n",
        LocalTime.now().format(CLOCK),
        what,
        left < 60 ? "a minute" : "about " + Math.round(left / 60) + " min");
  }

  /** Seconds since the start. */
  double took() {
    return (System.nanoTime() - begun) / 1e9;
  }
}
