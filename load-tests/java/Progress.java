import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;

/** Says on standard output what is under way and about how long it will be. */
final class Progress {
  private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss");

  private final long begun = System.nanoTime();
  private final double planned;
  private double done;
  private double ended;

  Progress(List<Group> groups, double besides) {
    planned = besides + groups.stream().mapToDouble(Group::planSeconds).sum();
  }

  double plannedSeconds() {
    return planned;
  }

  void tell(String what) {
    System.out.printf("%s  %s%n", LocalTime.now().format(CLOCK), what);
  }

  void measured(Group group, Row row, int round, Sample sample) {
    done += group.planSeconds() / (group.rounds() * group.rows().size());
    tell(
        String.format(
            Locale.ROOT,
            "%s: round %d/%d, %s, c=%d: %.0f/s, %.2f us CPU   (%s left)",
            group.name(),
            round,
            group.rounds(),
            row.name(),
            row.connections(),
            sample.perSecond(),
            sample.cpuMicros(),
            left()));
  }

  /** Of what was planned for it nothing is left, whether it was done or not. */
  void finished(Group group) {
    ended += group.planSeconds();
    done = ended;
  }

  private String left() {
    long seconds = Math.max(0, Math.round(planned - done));
    return seconds < 60 ? "under a minute" : "about " + (seconds + 30) / 60 + " min";
  }

  /** Seconds since the start. */
  double took() {
    return (System.nanoTime() - begun) / 1e9;
  }
}
