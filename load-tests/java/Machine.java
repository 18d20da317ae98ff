import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.Locale;

/** Where and of what a run was made. */
record Machine(
    int cores,
    String processor,
    long memoryMib,
    String kernel,
    String java,
    String commit,
    double loadBefore) {

  /**
   * @param commit of the sources, which the script finds out
   */
  static Machine here(String commit) throws IOException {
    return new Machine(
        Runtime.getRuntime().availableProcessors(),
        ProcessFigures.processorModel(),
        ProcessFigures.machineMemoryKib() / 1024,
        System.getProperty("os.name") + " " + System.getProperty("os.version"),
        System.getProperty("java.vm.name") + " " + Runtime.version(),
        commit,
        ProcessFigures.load());
  }

  String text() {
    return String.format(
        Locale.ROOT,
        "%d cores (%s), %d MiB, %s, %s, commit %s%n" + "Load average before: %.2f%s",
        cores,
        processor,
        memoryMib,
        kernel,
        java,
        commit,
        loadBefore,
        loadBefore > 0.5 ? " - others are at work here, and the figures are theirs too" : "");
  }

  JsonObject json() {
    return new JsonObject()
        .put("cores", cores)
        .put("processor", processor)
        .put("memory_mib", memoryMib)
        .put("kernel", kernel)
        .put("java", java)
        .put("load_before", loadBefore);
  }
}
