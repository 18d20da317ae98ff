import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Measures the CPU time of a hop over each carrier of messages. Started by {@code carriers.sh}.
 *
 * <p>Arguments: a folder of {@code berth cluster init}, the file for the table, the commit, and
 * {@code --quick} or nothing.
 */
public final class Carriers {
  /** Rows that are compared with each other: each carrier, followed by its second construction. */
  private record Heat(Letter letter, int inFlight, List<Exchanges> all) {}

  private static final int MANY = 64;
  private static final int PROOF_MS = 20;

  private final Plan plan;
  private final Progress progress;
  private final List<Heat> heats = new ArrayList<>();
  private final Map<Exchanges, List<Exchanges.SliceFigures>> figures = new HashMap<>();
  private final List<String> cold = new ArrayList<>();

  private Carriers(Path folder, Plan plan) throws Exception {
    this.plan = plan;
    CarrierNode[] first = pair(folder);
    CarrierNode[] again = pair(folder);
    heats.add(heat(first, again, Letter.SMALL, MANY));
    heats.add(heat(first, again, Letter.SMALL, 1));
    heats.add(heat(first, again, Letter.KIBIBYTE, MANY));
    double slices = plan.rounds() * all().size();
    this.progress = new Progress(plan.warmUpSeconds() + slices * (plan.sliceMillis() + 20) / 1e3);
  }

  public static void main(String[] args) {
    int code = 1;
    try {
      boolean quick = args.length > 3 && args[3].equals("--quick");
      Plan plan = quick ? new Plan(1, 8, 50, 50, 20) : new Plan(1, 32, 150, 100, 40);
      Machine machine = Machine.here(args[2]);
      Carriers carriers = new Carriers(Path.of(args[0]), plan);
      carriers.run();
      String report = carriers.report(machine);
      System.out.println(report);
      Files.writeString(Path.of(args[1]), report);
      code = 0;
    } catch (Exception failed) {
      failed.printStackTrace();
    }
    Runtime.getRuntime().halt(code);
  }

  /** Starts two nodes that know each other. */
  private static CarrierNode[] pair(Path folder) throws Exception {
    CarrierNode[] nodes = {new CarrierNode(folder, "n1", 1), new CarrierNode(folder, "n2", 2)};
    nodes[0].add(nodes[1]);
    nodes[1].add(nodes[0]);
    return nodes;
  }

  private static Heat heat(CarrierNode[] first, CarrierNode[] again, Letter letter, int inFlight) {
    List<Exchanges> all = new ArrayList<>();
    for (Carrier carrier : Carrier.values()) {
      all.add(new Exchanges(first, carrier, letter, inFlight, false));
      all.add(new Exchanges(again, carrier, letter, inFlight, true));
    }
    return new Heat(letter, inFlight, all);
  }

  private List<Exchanges> all() {
    return heats.stream().flatMap(heat -> heat.all().stream()).toList();
  }

  // --- measurement ---

  private void run() throws Exception {
    for (Exchanges each : all()) {
      each.prove(PROOF_MS);
      figures.put(each, new ArrayList<>());
    }
    warm();
    progress.tell(plan.rounds() + " rounds of " + all().size() + " slices");
    for (int round = 0; round < plan.rounds(); round++) {
      for (Heat heat : heats) {
        List<Exchanges> order = new ArrayList<>(heat.all());
        Collections.rotate(order, round);
        if (round % 2 == 1) {
          Collections.reverse(order);
        }
        for (Exchanges each : order) {
          figures.get(each).add(each.slice(plan.sliceMillis()));
        }
      }
    }
  }

  /** Runs slices of all in turn until the JIT compilers have little work in each. */
  private void warm() throws Exception {
    progress.tell("warm-up, at most " + plan.warmUpSeconds() + " s");
    long end = System.nanoTime() + plan.warmUpSeconds() * 1_000_000_000L;
    Set<Exchanges> left = new LinkedHashSet<>(all());
    Map<Exchanges, Double> shares = new HashMap<>();
    for (int pass = 1; !left.isEmpty() && System.nanoTime() < end; pass++) {
      for (Exchanges each : List.copyOf(left)) {
        double share = each.slice(plan.warmUpMillis()).compilerShare();
        shares.put(each, share);
        if (pass >= Plan.LEAST_WARM_UPS && share < Plan.WARM) {
          left.remove(each);
        }
      }
    }
    for (Exchanges each : left) {
      cold.add("%s: %.0f %%".formatted(each.name(), 100 * shares.get(each)));
    }
  }

  // --- report ---

  private String report(Machine machine) throws IOException {
    Table table =
        new Table(
            "message",
            "in flight",
            "carrier",
            "CPU us per hop",
            "ratio to the mailbox",
            "A/A",
            "hops per s");
    for (Heat heat : heats) {
      double[] mailbox = cpu(heat.all().get(0));
      for (int i = 0; i < heat.all().size(); i += 2) {
        Exchanges row = heat.all().get(i);
        double[] cpu = cpu(row);
        table.line(
            List.of(
                heat.letter().label,
                String.valueOf(heat.inFlight()),
                row.carrier.label,
                Spread.of(cpu).text(2),
                i == 0 ? "1" : Spread.of(ratios(cpu, mailbox)).text(1),
                Spread.of(ratios(cpu(heat.all().get(i + 1)), cpu)).text(2),
                String.format(Locale.ROOT, "%.0f", Spread.of(rates(row)).median())));
      }
    }
    double compiling =
        figures.values().stream()
            .flatMap(List::stream)
            .mapToDouble(Exchanges.SliceFigures::compilerShare)
            .average()
            .orElse(0);
    String text =
        "%s%n%d rounds of slices of %d ms; JIT compilers: %.1f %% of the CPU time, not in the table%n%s%n"
            .formatted(
                table.markdown(),
                plan.rounds(),
                plan.sliceMillis(),
                100 * compiling,
                machine.text());
    return cold.isEmpty() ? text : text + "Not warm: " + String.join("; ", cold) + "\n";
  }

  private double[] cpu(Exchanges of) {
    return figures.get(of).stream().mapToDouble(Exchanges.SliceFigures::cpuMicros).toArray();
  }

  private double[] rates(Exchanges of) {
    return figures.get(of).stream().mapToDouble(Exchanges.SliceFigures::perSecond).toArray();
  }

  private static double[] ratios(double[] of, double[] to) {
    double[] ratios = new double[of.length];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = of[i] / to[i];
    }
    return ratios;
  }
}
