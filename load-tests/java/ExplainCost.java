import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * What it costs a request that it might be explained, and that it is. Started by {@code
 * explain-cost.sh}.
 *
 * <p>Arguments: berth.jar of before, berth.jar of now, a work folder, the commit, and then {@code
 * --rounds=N}, {@code --seconds=N}. Exit code 1 when one that is not explained costs more than 1 %
 * and more than two equal servers differ.
 */
public final class ExplainCost {
  /** Of processor time, over a server that cannot explain. */
  private static final double BUDGET = 1.01;

  private static final int CONNECTIONS = 64;
  private static final int WARM_UP_SECONDS = 6;
  private static final String BEFORE = "before";
  private static final String AGAIN = "before, again (A/A)";
  private static final String OFF = "not explained";
  private static final String ON = "every request explained";

  private final Map<String, Server> servers = new LinkedHashMap<>();
  private final Map<String, List<Sample>> samples = new LinkedHashMap<>();

  private ExplainCost() {}

  public static void main(String[] args) throws Exception {
    int rounds = 7;
    int seconds = 6;
    for (String option : Arrays.asList(args).subList(4, args.length)) {
      String value = option.substring(option.indexOf('=') + 1);
      if (option.startsWith("--rounds=")) {
        rounds = Integer.parseInt(value);
      } else if (option.startsWith("--seconds=")) {
        seconds = Integer.parseInt(value);
      } else {
        System.err.println(option + " (expected: --rounds=N or --seconds=N)");
        System.exit(2);
      }
    }
    Path work = Path.of(args[2]);
    System.out.println(Machine.here(args[3]).text());
    boolean met;
    try (Servers before = new Servers(Path.of(args[0]), work);
        Servers now = new Servers(Path.of(args[1]), work)) {
      met = new ExplainCost().run(before, now, rounds, seconds);
    }
    System.exit(met ? 0 : 1);
  }

  private boolean run(Servers before, Servers now, int rounds, int seconds)
      throws IOException, InterruptedException {
    Configuration plain = Configuration.noOp(1, "event_loops");
    servers.put(BEFORE, before.berth(BEFORE, plain));
    servers.put(AGAIN, before.berth(AGAIN, plain));
    servers.put(OFF, now.berth(OFF, plain));
    servers.put(ON, now.berth(ON, plain, "  explain: {sample_rate: 1}\n"));
    if (servers.get(ON).get("/").headers().firstValue("x-berth-overhead-us").isEmpty()) {
      throw new IOException(ON + ": no X-Berth-Overhead-Us (expected: a jar that explains)");
    }
    for (Map.Entry<String, Server> each : servers.entrySet()) {
      System.out.println("warming: " + each.getKey());
      Load.wrk().run(each.getValue().uri("/"), CONNECTIONS, WARM_UP_SECONDS);
      samples.put(each.getKey(), new ArrayList<>());
    }
    List<String> names = new ArrayList<>(servers.keySet());
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < names.size(); i++) {
        // Each round starts with another one and every second one goes backwards.
        int step = round % 2 == 0 ? i : names.size() - i;
        String name = names.get((round + step) % names.size());
        Row row = Row.of(name, name, name, "/", CONNECTIONS);
        Sample sample = Sample.of(row, servers.get(name), seconds);
        samples.get(name).add(sample);
        System.out.printf(
            Locale.ROOT,
            "round %d of %d  %-24s %6.2f us CPU%n",
            round + 1,
            rounds,
            name,
            sample.cpuMicros());
      }
    }
    return report();
  }

  private boolean report() {
    System.out.printf(
        "%n%-24s %-22s %-22s %s%n",
        "one loop, c = 64", "CPU us/request", "CPU, over before", "bytes/request");
    for (String name : servers.keySet()) {
      System.out.printf(
          "%-24s %-22s %-22s %s%n",
          name,
          spread(name, Sample::cpuMicros).text(2),
          name.equals(BEFORE) ? "" : ratio(name).text(3),
          spread(name, Sample::allocatedBytes).middle(0));
    }
    double cost = ratio(OFF).median();
    double noise = ratio(AGAIN).furthestFrom(1);
    boolean met = cost <= Math.max(BUDGET, 1 + noise);
    System.out.printf(
        Locale.ROOT,
        "%nnot explained: %+.1f %% (budget: at most 1 %%, or the %.1f %% that equal ones differ by):"
            + " %s%n",
        (cost - 1) * 100,
        noise * 100,
        met ? "met" : "MISSED");
    return met;
  }

  private Spread spread(String name, ToDoubleFunction<Sample> figure) {
    return Spread.of(samples.get(name).stream().mapToDouble(figure).toArray());
  }

  /** Round by round, over what was measured beside it. */
  private Spread ratio(String name) {
    List<Sample> own = samples.get(name);
    List<Sample> base = samples.get(BEFORE);
    double[] ratios = new double[own.size()];
    for (int round = 0; round < ratios.length; round++) {
      ratios[round] = own.get(round).cpuMicros() / base.get(round).cpuMicros();
    }
    return Spread.of(ratios);
  }
}
